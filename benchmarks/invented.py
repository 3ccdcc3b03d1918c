"""An invented conversation, for pictures."""

from __future__ import annotations

TALK = """
We need to move service alpha off node-3 before Friday; it listens on 5433 and logs to /var/log/alpha.
Then three things have to happen first: drain the node, copy the WAL archive, and switch the health check to node-7.
Retries stay at 4. And never restart it on Fridays, that is a rule.
Noted. I changed deploy/alpha.yaml: maxRetries 4, maintenance window Monday to Thursday, and the probe waits 30 s.
Where does the archive go? It is 41 GB and has to survive node-3 being wiped.
To /var/backups/alpha/wal on node-7: that volume is snapshotted nightly, and 120 GB of it are free.
Good. How long will the copy take over the internal network?
About 26 minutes at 27 MB/s, measured with the last base backup; add 5 minutes to verify the checksums.
The checksum of the last segment should be 9f6c21d0, please check that one by hand.
Done: 9f6c21d0 on both sides. The other 812 segments were verified by pg_verifybackup 15.4, all of them clean.
Who is on call while we switch?
Dana until 18:00 UTC, then Ravi. Both have the runbook at https://runbooks.example/alpha, second page.
We also promised the billing team a read-only window of at most 90 seconds. Can we hold that?
Yes: a rehearsal on staging took 41 seconds from the first refused write to the first accepted one on the new node.
What do we do if the replica lags behind?
Stop at 256 KB of lag and wait; over 10 minutes of waiting means that we go back: kubectl rollout undo deploy/alpha.
Fine. And the firewall ticket?
NET-212 was closed this morning: node-7 reaches the three billing hosts on 5433 and nothing else.
Then nothing blocks us any more, I think.
Nothing does. What is left is the switch itself, and telling billing an hour before.
Keep the connection string exactly as it is: postgres://alpha@node-7.internal:5433/alpha
It stays word for word. For the switch itself, drain first and let the health check follow.
""".strip().splitlines()
SUMMARY = """## Summary
Service alpha moves from node-3 to node-7 before Friday; the archive is copied and verified, the switch is to come.

## Decisions
- Retries stay at 4
- Never restart it on Fridays: a rule
- WAL archive in /var/backups/alpha/wal on node-7: snapshotted nightly, 120 GB free
- Go back with kubectl rollout undo deploy/alpha after 10 minutes of waiting, stop at 256 KB of lag

## Files
- deploy/alpha.yaml: maxRetries 4, maintenance window Monday to Thursday, probe waits 30 s

## State
- Done: copy of 41 GB in 26 minutes, 812 segments verified by pg_verifybackup 15.4, last one 9f6c21d0; NET-212 closed
- Pending: read-only window of at most 90 seconds, 41 seconds in the rehearsal
- Next: the switch, telling billing an hour before

## Context
- alpha listens on 5433, logs to /var/log/alpha
- On call: Dana until 18:00 UTC, then Ravi; runbook https://runbooks.example/alpha
"""
MARKS = """
[CHECKPOINT] Copy and verify the WAL archive - COMPLETED
[DECISION] Go back after ten minutes of lag: the replica must not diverge - LOCKED
[ARTIFACT] Modified deploy/alpha.yaml
"""
"""What the summariser reports of the goal."""
SECOND = """## Summary
The switch to node-7 is to begin at 22:30 UTC; nothing blocks it any more.

## Decisions
- Begin at 22:30 UTC: Ravi is on call and billing is asleep

## State
- Done: NET-212 closed, node-7 reaches the three billing hosts on 5433
- Next: drain node-3, switch the health check, tell billing at 21:30 UTC

## Context
- connection string postgres://alpha@node-7.internal:5433/alpha
"""
GOAL = "Move service alpha to node-7 before Friday, without losing a write"
STEPS = ("Copy and verify the WAL archive", "Switch within 90 seconds", "Tell billing an hour before")
RULES = ("Keep the connection string exactly as it is", "All times in UTC")
ANSWER = """You settled on `/var/backups/alpha/wal` on node-7. For the switch:

```bash
kubectl drain node-3 --ignore-daemonsets --timeout=120s
kubectl rollout restart deploy/alpha -n prod
kubectl wait --for=condition=available deploy/alpha
```

The second line is safe today, Thursday; your rule about Fridays holds from midnight.
"""
LATER = (
    ("When do we begin?", "At 22:30 UTC: Ravi is on call by then, and billing is asleep. " + "It takes an hour. " * 20),
    ("Who tells billing?", "You do, at 21:30 UTC, an hour before. " + "The wording is in the runbook. " * 20),
    ("Is anything open?", "No: NET-212 is closed, and node-7 reaches all three billing hosts. " + "All is set. " * 20),
    ("Then we are ready.", "We are."),
    ("Good night until then.", "Until 22:30 UTC."),
)
ASIDES = (
    "I would like to have this settled before the stand-up, because the others plan their morning around it, and "
    "nobody should have to guess afterwards what it was that the two of us agreed on here.",
    "I wrote it into the runbook as well, with the commands and the output that is to be expected, so that whoever is "
    "on call can repeat every step of it without having to ask either of us first.",
)

JOB = "How much disk will 30 days of alpha's archive take, and when must the next volume be there?"
TASK = (
    "The archive of alpha grows by 14.2 GB a day and keeps 30 days; the volume has 512 GB, of which 301 GB are used. "
    "Work out how much 30 days take, how many days are left, and on which date it is full, counted from today."
)
"""What a planner hands over, and what its executor calls and answers."""
SUMS = ("14.2 * 30", "(512 - 301) / 14.2")
ASKS = "PARTIAL RESULT\n30 days take **426 GB**; 14.8 days are left. Does the date count from the end of today?"
CLEAR = "From the end of today, and round down to whole days."
RESULT = "30 days take 426 GB. The volume is full in 14 days, counted from the end of today: order it before then."
TOLD = (
    "Thirty days take **426 GB**. With 301 of 512 GB used and 14.2 GB a day, the volume is full in **14 days**, so the "
    "next one must be there before that."
)
