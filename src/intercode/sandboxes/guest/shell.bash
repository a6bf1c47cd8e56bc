# The persistent shell: reads commands from 73, tells on 72 what became of them, and stops until
# process 1 continues it. 74: what a new shell would have to take over, told a line at a time. 70
# and 71: what each command has as its input and its output, wherever the one before has sent its
# own. All above 63, from where down Bash takes the ends of pipes: it would close a coprocess's own
# when that is gone, and mean ours.
unset BASH_EXECUTION_STRING
shopt -s expand_aliases
__status() { return "$1"; }
readonly -f __status
__s=0
kill -STOP "${BASHPID:-$$}"
while IFS=' ' read -r -d '' -u 73 __t __n && IFS= LC_ALL=C read -r -N "$__n" -u 73 __c; do
  eval 'printf "B%s:0\0" "$__t" >&72; __status "$__s"; eval "$__c" <&70 >&71 2>&1 70<&- 71>&- 72>&- 73<&- 74>&-'
  { __s=$?; printf 'V%s:0\0' "$__t"; declare -p; declare -f; alias -p; umask -p; printf '\0'; } >&74
  printf 'E%s:%d\0%s\0%s\0' "$__t" "$__s" "$PWD" "$__t" >&72
  kill -STOP "${BASHPID:-$$}"
done 2>/dev/null
