import { leap, setBack } from './clocks.js';
import { goOnAtOnce, goOnFirst, loseWakeUp, stopHalfway, succeedTooLate, takeTurns, waitTooLong } from './generations.js';
import { freeTooLate, refuseTooLate, retryAtOnce } from './keys.js';
import type { Stage } from './stage.js';
import { completeTooLate, prepareAgain, refuseACompletionTooLate, useLate } from './uploads.js';

interface Scene {
  readonly name: string;
  /** What it takes to play it. */
  readonly needs: (stage: Stage) => boolean;
  readonly play: (stage: Stage) => Promise<void>;
}

const always = () => true;
const oneRunner = ({ runners }: Stage) => runners.length === 1;
const severalRunners = ({ runners }: Stage) => runners.length > 1;
const onlyOne = ({ service }: Stage) => service.isExclusive;
const severalDoors = ({ doors }: Stage) => doors.length > 1;

/** Situations so particular that chance would take too long to bring them about. Everything else is fair while one is staged. */
export const SCENES: readonly Scene[] = [
  { name: 'accounts take turns', needs: oneRunner, play: takeTurns },
  { name: 'a cut run goes first', needs: oneRunner, play: goOnFirst },
  { name: 'a cut run goes on at once', needs: onlyOne, play: goOnAtOnce },
  { name: 'a cut create is answered at once', needs: onlyOne, play: retryAtOnce },
  { name: 'a wake-up is lost', needs: always, play: loseWakeUp },
  { name: 'waiting too long', needs: oneRunner, play: waitTooLong },
  { name: 'stopped halfway', needs: always, play: stopHalfway },
  { name: 'a success too late', needs: severalRunners, play: succeedTooLate },
  { name: 'a refusal too late', needs: severalDoors, play: refuseTooLate },
  { name: 'a freed key too late', needs: always, play: freeTooLate },
  { name: 'a completion refused too late', needs: severalDoors, play: refuseACompletionTooLate },
  { name: 'a completion too late', needs: severalDoors, play: completeTooLate },
  { name: 'an upload prepared again', needs: always, play: prepareAgain },
  { name: 'an upload used late', needs: always, play: useLate },
  { name: 'a clock leaps', needs: always, play: leap },
  { name: 'a clock is set back', needs: always, play: setBack },
];
