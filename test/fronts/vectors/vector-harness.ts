import { expect } from 'chai';
import type { Context as Suite } from 'mocha';
import type { Context } from '../../../core/context.js';
import type { Settings } from '../../../core/settings.js';
import type { CredentialIssuer } from '../../harness/credential-issuers.js';
import { createRequestFixture, type IsNeeded, type RequestFixture } from '../../harness/request-fixture.js';
import { VECTORS_BY_TOPIC } from './all.js';
import { type FrontName, FRONTS } from './fronts.js';
import { LeftOut, whyLeftOut } from './left-out.js';
import { type FrontClient, playOn, type VectorTarget } from './play.js';
import { noteDown } from './report.js';
import type { Vector } from './vector.js';

/** One service that can be called over every front, with the means to cause events between requests. */
export interface VectorHarness extends Omit<VectorTarget, 'client'> {
  readonly clients: Readonly<Record<FrontName, FrontClient>>;
  close(): Promise<void>;
}

/** The needs of a group of vectors. */
export interface Needs {
  readonly worker: boolean;
  /** Times are short where they cannot be moved. */
  readonly time: boolean;
  readonly settings: Partial<Settings>;
}

interface Group {
  readonly name: string;
  readonly parts: readonly Part[];
  readonly needs: Needs;
}

interface Part {
  readonly name: string;
  readonly vectors: readonly Vector[];
}

const READS = ['listModels', 'getModel', 'getUpload', 'getCredits', 'estimateGeneration', 'getGeneration'];
const ALL = Object.values(VECTORS_BY_TOPIC).flat();
const PLAIN: Needs = { worker: false, time: false, settings: {} };
const LOW_BOUNDS = { maxOpenGenerationsPerAccount: 2, maxUnfinishedUploadsPerApp: 2 };

const has =
  (event: string) =>
  ({ steps }: Vector) =>
    steps.some((step) => 'event' in step && step.event === event);
const isPlain = (vector: Vector) =>
  vector.settings === undefined && !has('start-worker')(vector) && !has('advance')(vector);
const topicOf = (vector: Vector) =>
  Object.entries(VECTORS_BY_TOPIC).find(([, vectors]) => vectors.includes(vector))?.[0] ?? '';

/**
 * Each group has one service. Vectors that leave no trace are played first: they share one fixture, so that few records
 * are stored and comparing them before and after each refusal is cheap.
 */
export const GROUPS: readonly Group[] = [
  group('alone', ALL.filter(isPlain), PLAIN),
  group('with its worker', ALL.filter(has('start-worker')), { ...PLAIN, worker: true }),
  group('with time that passes', ALL.filter(has('advance')), { ...PLAIN, time: true }),
  group(
    'with low bounds',
    ALL.filter(({ settings }) => settings !== undefined),
    { ...PLAIN, settings: LOW_BOUNDS },
  ),
];

function group(name: string, vectors: readonly Vector[], needs: Needs): Group {
  const parts = [
    { name: 'what leaves no trace', vectors: vectors.filter(leavesNoTrace) },
    { name: 'what leaves a trace', vectors: vectors.filter((vector) => !leavesNoTrace(vector)) },
  ];
  return { name, parts: parts.filter((part) => part.vectors.length > 0), needs };
}

export interface LaneOptions {
  /** All when absent. */
  readonly fronts?: readonly FrontName[];
  /** Makes the credentials that requests are sent with; API keys when absent. */
  readonly issuer?: (context: Context) => CredentialIssuer;
  /** Names of vectors that these credentials answer otherwise, which another suite covers. */
  readonly omits?: readonly string[];
}

/** Every vector over every front of one service a group. `open` may skip the group where a server is absent. */
export function playAllVectors(
  lane: string,
  open: (needs: Needs, suite: Suite) => Promise<VectorHarness>,
  { fronts = FRONTS, issuer, omits = [] }: LaneOptions = {},
): void {
  for (const { name, parts, needs } of GROUPS) {
    describe(name, () => {
      let vectorHarness: VectorHarness | undefined;
      /** The fixture of all vectors that leave no trace. */
      let shared: Promise<RequestFixture> | undefined;
      before(async function raise() {
        vectorHarness = await open(needs, this);
      });
      after(() => vectorHarness?.close());

      for (const [part, front] of parts.flatMap((each) => fronts.map((over) => [each, over] as const))) {
        describe(`${part.name}, over ${front}`, () => {
          for (const vector of part.vectors.filter(({ name: title }) => !omits.includes(title))) {
            it(vector.name, async function plays() {
              const { clients, ...target } = vectorHarness as VectorHarness;
              const create = (isNeeded?: IsNeeded) =>
                createRequestFixture(target.context, isNeeded, issuer?.(target.context));
              const fixture = leavesNoTrace(vector) ? (shared ??= create()) : create(neededBy(vector));
              const played = playOn(vector, { ...target, client: clients[front] }, await fixture);
              const reason = whyLeftOut(front, vector.name);
              if (reason !== undefined) expect(await reasonOf(played), 'why it is left out').to.equal(reason);
              else await played;
              noteDown({ lane, front, topic: topicOf(vector), reason });
              if (reason !== undefined) this.skip();
            });
          }
        });
      }
    });
  }
}

/** The parts of the fixture that a vector names; all if it sets a bound, because a bound also counts unnamed ones. */
function neededBy({ settings, steps }: Vector): IsNeeded {
  const text = JSON.stringify(steps).toLowerCase();
  return (name) => settings !== undefined || text.includes(`"${name}"`) || text.includes(`@${name}`);
}

/** Whether it leaves everything as it was, which the player makes sure of for refusals. */
function leavesNoTrace({ steps }: Vector): boolean {
  return steps.every((step) => 'operation' in step && (step.code !== 'OK' || READS.includes(step.operation)));
}

/** The reason why a vector was left out; undefined if it was played after all. */
function reasonOf(played: Promise<void>): Promise<string | undefined> {
  return played.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof LeftOut) return error.reason;
      throw error;
    },
  );
}
