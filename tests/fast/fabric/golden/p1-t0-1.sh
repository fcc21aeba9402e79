#!/bin/sh
# p1-t0-1 of fabric two. Ports:
#   h2 to h2:p1
#   h3 to h3:p1
#   t1-0 to p1-t1-0:t0-1
#   t1-1 to p1-t1-1:t0-1
set -e
sysctl -q -w net/ipv6/conf/all/keep_addr_on_down=1
sysctl -q -w net/ipv6/conf/all/forwarding=1
sysctl -q -w net/ipv6/icmp/ratelimit=0
sysctl -q -w net/ipv6/conf/all/seg6_enabled=1
sysctl -q -w net/ipv6/conf/h2/seg6_enabled=1
sysctl -q -w net/ipv6/conf/h2/accept_ra=0
sysctl -q -w net/ipv6/conf/h3/seg6_enabled=1
sysctl -q -w net/ipv6/conf/h3/accept_ra=0
sysctl -q -w net/ipv6/conf/t1-0/seg6_enabled=1
sysctl -q -w net/ipv6/conf/t1-0/accept_ra=0
sysctl -q -w net/ipv6/conf/t1-1/seg6_enabled=1
sysctl -q -w net/ipv6/conf/t1-1/accept_ra=0
ip link show usid >/dev/null 2>&1 || ip link add usid type veth peer name usid-end
ip link set h2 down address 02:11:00:01:00:00
ip link set h3 down address 02:11:00:01:00:01
ip link set t1-0 down address 02:11:00:01:00:02
ip link set t1-1 down address 02:11:00:01:00:03
tc qdisc del dev h2 root 2>/dev/null || true
tc qdisc del dev h3 root 2>/dev/null || true
tc qdisc del dev t1-0 root 2>/dev/null || true
tc qdisc del dev t1-1 root 2>/dev/null || true
ip -6 -batch - <<'EOF'
link set lo up
address replace fcbb:bb00:1401::/128 dev lo nodad
link set usid-end addrgenmode none up
link set usid addrgenmode none up
link set h2 addrgenmode none multicast off mtu 9216 up
address replace fe80::1/64 dev h2 nodad
neighbour replace fe80::2 lladdr 02:00:00:00:02:01 nud permanent dev h2
link set h3 addrgenmode none multicast off mtu 9216 up
address replace fe80::1/64 dev h3 nodad
neighbour replace fe80::2 lladdr 02:00:00:00:03:01 nud permanent dev h3
link set t1-0 addrgenmode none multicast off mtu 9216 up
address replace fe80::2/64 dev t1-0 nodad
neighbour replace fe80::1 lladdr 02:21:00:00:00:01 nud permanent dev t1-0
link set t1-1 addrgenmode none multicast off mtu 9216 up
address replace fe80::2/64 dev t1-1 nodad
neighbour replace fe80::1 lladdr 02:21:00:01:00:01 nud permanent dev t1-1
route replace fcbb:bb00:1401::/48 encap seg6local action End flavors next-csid lblen 32 nflen 16 dev usid
route replace fcbb:bb00:1c02::/48 via fe80::2 dev h2
route replace fcbb:bb00:1c03::/48 via fe80::2 dev h3
route replace fcbb:bb00:1800::/48 via fe80::1 dev t1-0
route replace fcbb:bb00:1801::/48 via fe80::1 dev t1-1
route replace fd00:2:1::1/128 via fe80::2 dev h2
route replace fd00:2:1::2/128 via fe80::2 dev h3
route replace fd00:2::/48 via fe80::1 dev t1-0
route replace blackhole fcbb:bb00::/32 metric 4096
route replace blackhole fd00:2::/32 metric 4096
EOF
tc -batch - <<'EOF'
qdisc replace dev h2 root handle 1: htb default 1
class replace dev h2 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev h2 parent 1:1 handle 10: bfifo limit 625000
qdisc replace dev h3 root handle 1: htb default 1
class replace dev h3 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev h3 parent 1:1 handle 10: bfifo limit 625000
qdisc replace dev t1-0 root handle 1: htb default 1
class replace dev t1-0 parent 1: classid 1:1 htb rate 2000000000bit ceil 2000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev t1-0 parent 1:1 handle 10: bfifo limit 1250000
qdisc replace dev t1-1 root handle 1: htb default 1
class replace dev t1-1 parent 1: classid 1:1 htb rate 2000000000bit ceil 2000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev t1-1 parent 1:1 handle 10: bfifo limit 1250000
EOF
