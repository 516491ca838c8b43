"""Night after night until stopped: what `caudal up --demo` has running, and the map shows.

The polls open at once; Spark starts meanwhile, and the count begins when it runs. The model is learnt behind the first
results, and again after the first nights and ever more rarely. After a kill the night goes on where it was.
"""

from __future__ import annotations

import logging
import threading

from caudal.demos.elections.demonstration import Demonstration
from caudal.demos.elections.feeding import Feeder

PAUSE_SECONDS = 20.0  # between two nights, at speed 1
MODEL_AFTER = 0.03  # of the count: the first results come before Spark is asked for anything else

log = logging.getLogger("caudal.demo")


def serve(demonstration: Demonstration, speed: float, stop: threading.Event) -> None:
    """Raises what the application failed with."""
    demonstration.start()
    feeder = demonstration.feeder()
    learner = threading.Thread(target=_keep_learning, args=(demonstration, stop), name="caudal-learner", daemon=True)
    if demonstration.with_chess:
        threading.Thread(target=_play_chess, args=(demonstration, stop), name="caudal-chess", daemon=True).start()
    try:
        while not stop.is_set():
            _night(demonstration, feeder, speed, stop, learner)
            stop.wait(PAUSE_SECONDS / speed if speed else 0)
    finally:
        stop.set()
        if learner.is_alive():
            learner.join(30)


def _night(
    demonstration: Demonstration, feeder: Feeder, speed: float, stop: threading.Event, learner: threading.Thread
) -> None:
    def go_on(phase: str) -> bool:
        if phase == "counting":
            demonstration.wait_running(stop)
        return not stop.is_set()

    position = demonstration.begin(feeder)
    log.info("night %d begins", position.night)
    for _ in feeder.play(position, speed, go_on):
        if not learner.is_alive() and demonstration.standings.counted > MODEL_AFTER and not learner.ident:
            demonstration.publish_past(feeder)
            learner.start()


def _keep_learning(demonstration: Demonstration, stop: threading.Event) -> None:
    """At once, and after nights that still teach something."""
    learnt = None
    while not stop.is_set():
        told = demonstration.standings.status.get("night", {})
        finished = told["night"] if told.get("phase") == "over" else told.get("night", 0) - 1
        if learnt is None or (finished != learnt and _teaches(finished)):
            try:
                model = demonstration.learn()
                log.info("a model of %d partial counts from %d nights", model["version"], model["nights"])
                learnt = finished
            except Exception as error:  # the projection is an extra: the count goes on without it
                log.warning("no new model: %s", error)
        stop.wait(2)


def _teaches(night: int) -> bool:
    """After the 1st, 2nd, 4th, 8th … night: the more are known, the less one more changes."""
    return night & (night - 1) == 0


def _play_chess(demonstration: Demonstration, stop: threading.Event) -> None:
    from caudal.demos.chess.feeding import keep_playing
    from caudal.demos.chess.replay import Replay
    from caudal.demos.chess.topics import SQUARES
    from caudal.demos.following import Follower

    replay = Replay()
    follower = Follower(demonstration.config, [SQUARES], replay.take)
    caught_up = follower.wait_caught_up(60)
    follower.close()
    if caught_up and demonstration.wait_running(stop):
        keep_playing(demonstration.config, replay, stop)
