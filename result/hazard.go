package result

// Hazard is one way in which the world misbehaves.
type Hazard string

// The hazards that scenarios provoke and that lock kinds claim to withstand.
const (
	SlowCall        Hazard = "slow-call"
	HolderCrash     Hazard = "holder-crash"
	LostMaster      Hazard = "lost-master"
	LateRelease     Hazard = "late-release"
	RepeatedRelease Hazard = "repeated-release"
	GoneAtRelease   Hazard = "gone-at-release"
	LateRenewal     Hazard = "late-renewal"
	LostRenewal     Hazard = "lost-renewal"
	LostCommand     Hazard = "lost-command"
	LostReply       Hazard = "lost-reply"
	Cancelled       Hazard = "cancelled"
	StuckCall       Hazard = "stuck-call"
	PausedHolder    Hazard = "paused-holder"
	Partition       Hazard = "partition"
	FrozenServer    Hazard = "frozen-server"
	ServerDown      Hazard = "server-down"
	Unavailable     Hazard = "unavailable"
	LostData        Hazard = "lost-data"
	ClockJump       Hazard = "clock-jump"
	LostMinority    Hazard = "lost-minority"
	LostMajority    Hazard = "lost-majority"
	Bypass          Hazard = "bypass"
	Control         Hazard = "control"
)

// HazardInfo is a hazard with one line about it.
type HazardInfo struct {
	Hazard  Hazard
	Summary string
}

// Hazards lists every hazard, in the order in which they are shown.
func Hazards() []HazardInfo {
	return []HazardInfo{
		{SlowCall, "the business call outlives the lock's TTL"},
		{HolderCrash, "the holder's process dies between acquiring and setting the expiry"},
		{LostMaster, "the master dies before its replicas have the lock"},
		{LateRelease, "a release reaches the server when the key is someone else's"},
		{RepeatedRelease, "a release reaches the server twice, the second time when the key is someone else's"},
		{GoneAtRelease, "the key vanishes while its release is on its way, and is somebody else's when it arrives"},
		{LateRenewal, "a renewal reaches the server when the key is someone else's"},
		{LostRenewal, "one renewal is lost"},
		{LostCommand, "one command of the holder on its key is lost"},
		{LostReply, "the server grants the key and its reply is lost"},
		{Cancelled, "the purchase is cancelled at the moment at which the server grants it the key"},
		{StuckCall, "the business call hangs, and its process lives"},
		{PausedHolder, "the holder's process stands still between checking its lock and writing"},
		{Partition, "the holder can't reach the lock's servers for longer than the TTL"},
		{FrozenServer, "the lock's server answers nobody for longer than the TTL"},
		{ServerDown, "the lock's server is down for a while"},
		{Unavailable, "the lock's server breaks its connections or refuses writes for a while"},
		{LostData, "the lock's server loses its data while the key is held"},
		{ClockJump, "the server's clock jumps ahead by more than the key has to live"},
		{LostMinority, "fewer than half of the quorum's servers lose their data, or are slow"},
		{LostMajority, "most of the quorum's servers lose their data while the key is held"},
		{Bypass, "somebody writes the stock without the lock"},
		{Control, "nothing that a lock may break under"},
	}
}
