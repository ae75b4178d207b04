import { leap, setBack } from './clocks.js';
import {
  askToStopTooLate,
  becomeReadyUnseen,
  goOnAtOnce,
  goOnFirst,
  loseAnswers,
  loseWakeUp,
  setBackAsleep,
  stopHalfway,
  succeedTooLate,
  takeTurns,
  waitTooLong,
} from './generations.js';
import { freeTooLate, refuseTooLate, retryAtOnce } from './keys.js';
import type { ScenarioRun } from './scenario-run.js';
import { completeTooLate, prepareAgain, refuseACompletionTooLate, useLate } from './uploads.js';

interface Scenario {
  readonly name: string;
  /** Whether the run has what the scenario needs. */
  readonly needs: (run: ScenarioRun) => boolean;
  readonly play: (run: ScenarioRun) => Promise<void>;
}

const always = () => true;
const oneRunner = ({ runners }: ScenarioRun) => runners.length === 1;
const severalRunners = ({ runners }: ScenarioRun) => runners.length > 1;
const onlyOne = ({ service }: ScenarioRun) => service.isExclusive;
const severalFronts = ({ fronts }: ScenarioRun) => fronts.length > 1;

/**
 * Situations so particular that chance would take too long to reach them. There are no other faults while one is
 * played.
 */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'accounts take turns', needs: oneRunner, play: takeTurns },
  { name: 'a cut run goes first', needs: oneRunner, play: goOnFirst },
  { name: 'a cut run goes on at once', needs: onlyOne, play: goOnAtOnce },
  { name: 'a cut create is answered at once', needs: onlyOne, play: retryAtOnce },
  { name: 'a wake-up is lost', needs: always, play: loseWakeUp },
  { name: 'answers are lost', needs: always, play: loseAnswers },
  { name: 'ready while no worker runs', needs: always, play: becomeReadyUnseen },
  { name: 'a clock set back while its worker sleeps', needs: oneRunner, play: setBackAsleep },
  { name: 'waiting too long', needs: oneRunner, play: waitTooLong },
  { name: 'stopped halfway', needs: always, play: stopHalfway },
  { name: 'a stop asked for too late', needs: severalRunners, play: askToStopTooLate },
  { name: 'a success too late', needs: severalRunners, play: succeedTooLate },
  { name: 'a refusal too late', needs: severalFronts, play: refuseTooLate },
  { name: 'a freed key too late', needs: always, play: freeTooLate },
  { name: 'a completion refused too late', needs: severalFronts, play: refuseACompletionTooLate },
  { name: 'a completion too late', needs: severalFronts, play: completeTooLate },
  { name: 'an upload prepared again', needs: always, play: prepareAgain },
  { name: 'an upload used late', needs: always, play: useLate },
  { name: 'a clock leaps', needs: always, play: leap },
  { name: 'a clock is set back', needs: always, play: setBack },
];
