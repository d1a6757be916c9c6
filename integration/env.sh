# Sourced: where prepare.sh put the servers and readers.
export LAKESCAN_TOOLS="${LAKESCAN_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/lakescan/tools}"
