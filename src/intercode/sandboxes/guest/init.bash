# Process 1 of a sandbox. Builtins only. See guest/__init__.py for the protocol.
# 4: the shell's state, 5: its commands, 7: /dev/null, 8: control, 9: status, 6 and 1: output; above:
# the commands of other interpreters.
exec 6>&1 7<>/dev/null 8<&0 9>&2 0<&7 2>&7
# Without a stream of its own, the state goes with the status.
{ exec 4>&3 3>&-; } || exec 4>&9
unset x BASH_EXECUTION_STRING
# Where the host gives this, it spares Bash a look for it among the users.
declare +x SHELL
# Job control gives each background job a process group of its own, which `kill -- -PID` reaches,
# and lets `wait` return when a job stops.
set -m
job=0 shell=0
# Of each interpreter: its process and its pipe's number; and what closes all those pipes.
declare -A pids pipes
shut=
# 128 + SIGUSR1 and 128 + SIGSTOP, as `wait` gives them.
interrupted=138 stopped=147
# The host's way to end what is running: a signal interrupts `wait`, where a message could not.
trap '((job)) && kill -KILL -- "-$job"' USR1
# Read the rest of a message: its length, the interpreter it is for, then that many bytes.
receive() {
  tag=${verb:1}
  IFS=' ' read -r -d '' -u 8 n slot || return
  body=
  ((n == 0)) || IFS= LC_ALL=C read -r -N "$n" -u 8 body
}
# The NULs end whatever a killed process left half said.
tell() { printf '\0\0\0%s%s:%d\0' "$1" "$tag" "$2" >&9; }
alive() { kill -0 -- "$1"; }
# Whether any process but ourselves still has our output open as its own.
held() {
  local p
  for p in /proc/[0-9]*; do
    [[ $p == /proc/1 || " $shell ${pids[*]} " == *" ${p#/proc/} "* ]] && continue
    [[ $p/fd/1 -ef /proc/1/fd/6 || $p/fd/2 -ef /proc/1/fd/6 ]] && return
  done
  return 1
}
# With an argument: the run is over only when what it left in the background prints no more.
run() {
  local s
  ( trap - USR1; eval "$shut"; tell B 0; eval "$body" ) <&7 2>&1 4>&- 5>&- 6>&- 8<&- &
  job=$!
  # Not `wait -f`: in Bash 5.2 it now and then spins on a job that is gone. Plain `wait` also ends
  # when a signal comes (then wait on) and when the job has stopped itself, for good (then kill it).
  while wait "$job"; s=$?; alive "$job"; do
    ((s == interrupted)) || kill -KILL -- "-$job"
  done
  if [[ -n ${1-} ]]; then
    while alive "-$job" && held; do IFS= read -r -t 0.005 -u 8 body; done
  fi
  job=0
  tell D "$s"
}
# With a body: by forking, for when the agent has broken /bin/bash.
start_shell() {
  if ((shell)); then
    kill -KILL "$shell"
    wait "$shell"
    exec 5>&-
  fi
  # Bash forgets a coprocess, pipes and all, at its first change of state: hold on to the pipe.
  if [[ $body ]]; then
    coproc SH {
      trap - USR1
      eval "$shut"
      unset -f receive tell alive held run start_shell follow_shell start forget follow shut_pipes
      unset -v job shell pids pipes shut interrupted stopped verb tag n slot body SH SH_PID
      set +m --
      eval @SHELL@
    } 74>&4 73<&0 72>&9 71>&6 70<&7 <&7 >&6 2>&6 4>&- 5>&- 6>&- 7>&- 8<&- 9>&-
  else
    coproc SH { eval "$shut"; exec /bin/bash --noprofile --norc -c @SHELL@ bash 74>&4 73<&0 72>&9 71>&6 70<&7 <&7 >&6 2>&6 4>&- 5>&- 6>&- 7>&- 8<&- 9>&-; }
  fi
  shell=$!
  exec 5>&"${SH[1]}"
  eval "exec ${SH[0]}<&- ${SH[1]}>&-"
  follow_shell
  ((shell)) && tell S 0
}
# Another interpreter: the body is Bash text that becomes it. Its commands come on 73.
start() {
  local fd
  if [[ ${pids[$slot]-} ]]; then
    kill -KILL -- "-${pids[$slot]}"
    wait "${pids[$slot]}"
    forget
  fi
  eval "coproc $slot { trap - USR1; eval \"\$shut\"; eval \"\$body\"; } 73<&0 72>&9 71>&6 70<&7 <&7 >&6 2>&6 4>&- 5>&- 6>&- 7>&- 8<&- 9>&-"
  pids[$slot]=$!
  local -n ends=$slot
  exec {fd}>&"${ends[1]}"
  eval "exec ${ends[0]}<&- ${ends[1]}>&-"
  pipes[$slot]=$fd
  shut_pipes
  follow && tell S 0
}
forget() {
  fd=${pipes[$slot]}
  exec {fd}>&-
  unset "pids[$slot]" "pipes[$slot]"
  shut_pipes
}
shut_pipes() {
  local fd
  shut=
  for fd in "${pipes[@]}"; do shut+=" $fd>&-"; done
  [[ $shut ]] && shut="exec$shut"
}
follow() {
  local s fd
  job=${pids[$slot]}
  while wait "$job"; s=$?; alive "$job"; do
    ((s == stopped)) && { job=0; return; }
  done
  job=0
  tell Z "$s"
  forget
  return 1
}
# The shell stops itself when it has finished a command, and dies when it must; `wait` sees both.
follow_shell() {
  local s
  job=$shell
  while :; do
    wait "$shell"
    s=$?
    if ! alive "$shell"; then
      shell=0
      tell Z "$s"
      exec 5>&-
      break
    fi
    ((s == stopped)) && break
  done
  job=0
}
tag=
tell H 0
while IFS= read -r -d '' -u 8 verb && receive; do
  case $verb in
    R*) run ;;
    W*) run until-silent ;;
    S*) if [[ $slot ]]; then start; else start_shell; fi ;;
    E*)
      if [[ $slot ]]; then
        if [[ ${pids[$slot]-} ]]; then
          bg "%coproc $slot" >&7
          printf '%s %d\0%s' "$tag" "$n" "$body" >&"${pipes[$slot]}"
          follow
        else
          tell Z 0
        fi
      elif ((shell)); then
        # Not `kill -CONT`, after which `wait` would still answer with the old stop. And first: a
        # shell that stands still takes no command that is larger than the pipe.
        bg '%coproc SH' >&7
        printf '%s %d\0%s' "$tag" "$n" "$body" >&5
        follow_shell
      else
        tell Z 0
      fi
      ;;
    F) printf '%s' "$body" ;;
  esac
done
