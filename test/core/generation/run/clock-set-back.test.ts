// Goal: a wall clock that is set back two hours, or ahead, delays no task and submits none twice.
// Method: the clock is set while a run waits in each of the ways in which it can wait; the monotonic time until the next
// step is compared with what the wait may take.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { imagesOf, PROMISES } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const TWO_HOURS_MS = 2 * 3_600_000;
/** A day, so that no deadline ends a task, whatever the clock is set to. */
const RUN_MS = 24 * 3_600_000;

interface Wait {
  readonly what: string;
  /** Sets up the provider before the clock is set. */
  readonly arrange: (harness: CoreHarness) => void;
  /** Runs after the clock was set. */
  readonly once?: (harness: CoreHarness, generationId: string) => unknown;
  /** How long after the clock was set the generation may take to end, in milliseconds. */
  readonly mostMs: number;
  readonly status?: Generation['status'];
}

const WAITS: readonly Wait[] = [
  {
    what: 'a submission that never answers',
    arrange: ({ provider }) => void (provider.submitScript = ['hang', 'accept']),
    mostMs: 70_000,
  },
  {
    what: 'a poll that never answers',
    arrange: ({ provider }) => void (provider.pollHangs = true),
    once: ({ provider }) => void (provider.pollHangs = false),
    mostMs: 70_000,
  },
  {
    what: 'the next poll',
    arrange: ({ provider }) => void (provider.newReport = () => ({ state: 'running', pollAfterMs: 50_000 })),
    once: ({ provider }) => void (provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(1) }),
    mostMs: 60_000,
  },
  {
    what: 'the next attempt',
    arrange: ({ provider }) =>
      void (provider.submitScript = [
        { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true, retryAfterMs: 50_000 } },
        'accept',
      ]),
    mostMs: 60_000,
  },
  {
    what: 'capacity',
    arrange: ({ provider }) =>
      void (provider.submitScript = [
        {
          refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Full.', mayRetry: true, retryAfterMs: 50_000 },
          because: 'capacity',
        },
        'accept',
      ]),
    mostMs: 60_000,
  },
  {
    what: 'the second statement that there is no such task',
    arrange: ({ provider }) => {
      provider.promised = { ...PROMISES, settleMs: 20_000 };
      provider.submitScript = ['throw', 'accept'];
    },
    mostMs: 50_000,
  },
  {
    what: 'the grace after a cancel',
    arrange: ({ provider }) => {
      provider.newReport = () => ({ state: 'running' });
      provider.onCancel = () => undefined;
    },
    once: (harness, generationId) => cancelGeneration(harness.context, harness.caller, generationId),
    mostMs: 70_000,
    status: 'cancelled',
  },
];

async function started(arrange: Wait['arrange']): Promise<{ harness: CoreHarness; generationId: string }> {
  const model = imageModel({ runTimeoutMs: RUN_MS, onUnknownAcceptance: 'fail' });
  const harness = await CoreHarness.open({ models: [model] });
  await CoreWorker.start(harness);
  arrange(harness);
  const { generationId } = await harness.create();
  await harness.clock.advance(5_000);
  return { harness, generationId };
}

describe('a clock that is set', () => {
  for (const [where, byMs] of [
    ['back two hours', -TWO_HOURS_MS],
    ['ahead two hours', TWO_HOURS_MS],
  ] as const) {
    for (const { what, arrange, once, mostMs, status = 'succeeded' } of WAITS) {
      it(`${where} does not prolong the wait for ${what}`, async () => {
        const { harness, generationId } = await started(arrange);
        harness.clock.jump(byMs);
        const from = harness.clock.monotonic();
        await once?.(harness, generationId);
        const g = await untilSettled(harness, generationId);
        expect(g.status).to.equal(status);
        expect(harness.clock.monotonic() - from).to.be.at.most(mostMs);
        expect(harness.provider.tasks.size, 'tasks made').to.equal(1);
      });
    }
  }
});
