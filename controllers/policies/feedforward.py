"""A feed-forward as a policy."""

from pliant.controllers.checks import Array
from pliant.controllers.feedforward import FeedForward, Playback
from pliant.controllers.policy import Policy, PolicyInfo, to_action
from pliant.hardware.robot import RobotInfo


class FeedForwardPolicy(Policy):
    """Gives the commands of a feed-forward one after another, whatever it observes, then the last one for ever."""

    def __init__(self, feedforward: FeedForward, info: PolicyInfo, *, parameters: bool = True) -> None:
        """Check and arrange a feed-forward for an environment.

        Args:
            feedforward: what to play.
            info: what the environment offers.
            parameters: whether the robot's parameters must be the same too.

        Raises:
            MismatchError: joints, columns, units, period or bounds do not match; see `FeedForward.check`. A task
                that commands only some of the columns cannot play the others.
        """
        super().__init__(info)
        robot = RobotInfo(
            info.robot,
            info.joints,
            motors=(),
            command=info.actions,
            period=info.period,
            parameters=info.parameters,
        )
        self._playback = Playback(feedforward, robot, parameters=parameters)

    def reset(self) -> None:
        """Begin again with the first command."""
        self._playback.reset()

    def act(self, observation: Array) -> Array:
        """Return the action of the next command."""
        return to_action(self._playback.next(), self.info.actions)
