import { PROVIDER_ERRORS } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { TaskRefused } from '../shared/task-refused.js';
import { TASK_CACHE_LIMITS } from './tasks.js';

export interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** The plan of a task, from the model's settings and the task's parameters. */
export type Plan = Readonly<ReturnType<typeof readPlan>>;

/** Of a task of the test model; other tasks succeed. */
export const BEHAVIOURS = [
  'succeed',
  'slow',
  'slow_acceptance',
  'partial',
  'fail',
  'refuse',
  'late_success_after_cancel',
  'unknown_acceptance',
  'unknown_acceptance_lost',
  'hang',
  'bad_output',
  'wrong_output',
] as const;

const FORMATS = ['png', 'jpeg', 'webp'] as const;

/** The parameters that each painter reads, and its default size. */
const PAINTERS = {
  image: { size: '512x512', reads: ['n', 'size', 'format', 'seed'] },
  video: { size: '512x288', reads: ['size', 'duration_seconds', 'fps', 'seed'] },
  noop: { size: '64x64', reads: ['n', 'seed'] },
  test: {
    size: '256x256',
    reads: ['n', 'size', 'seed', 'behaviour', 'delay_ms', 'deliver', 'error_code', 'retryable_attempts'],
  },
};

/** The fault of a model's settings, as a sentence; undefined when there is none. */
export function settingsFault(settings: JsonObject): string | undefined {
  const unknown = Object.keys(settings).find((name) => name !== 'painter');
  if (unknown !== undefined) return `The sandbox provider has one setting, painter; "${unknown}" is unknown.`;
  const painters = Object.keys(PAINTERS);
  if (painters.includes(settings['painter'] as string)) return undefined;
  return `The sandbox provider's setting painter must be one of ${painters.join(', ')}.`;
}

/** The capabilities of a model of the sandbox. Only still pictures can keep a part of a reference. */
export function sandboxCapabilities({ painter }: JsonObject): ProviderCapabilities {
  return {
    answersWithOutputs: false,
    isAskedBy: 'token',
    takesTokenOnce: true,
    settleMs: 0,
    cancels: 'running',
    keepsResultsMs: TASK_CACHE_LIMITS.keepMs.read,
    isPaid: false,
    ...(painter === 'image' || painter === 'test' ? { maxMaskedReferences: 1 } : {}),
  };
}

/** The greatest delay of a create, in milliseconds, and that of one that names none. */
const ACCEPTANCE_MS = { most: 10_000, byDefault: 2_000 };

/** How long a create with the behaviour `slow_acceptance` takes, in milliseconds; 0 for any other. */
export function acceptanceDelayMs({ painter }: JsonObject, { behaviour, delay_ms: delayMs }: JsonObject): number {
  if (painter !== 'test' || behaviour !== 'slow_acceptance') return 0;
  const asked = typeof delayMs === 'number' && delayMs > 0 ? delayMs : ACCEPTANCE_MS.byDefault;
  return Math.min(asked, ACCEPTANCE_MS.most);
}

/** Throws `TaskRefused`. The settings have no fault. Parameters that the painter does not read are ignored. */
export function readPlan(settings: JsonObject, parameters: JsonObject) {
  const painter = settings['painter'] as keyof typeof PAINTERS;
  const { reads, size } = PAINTERS[painter];
  const given = (name: string): Json | undefined => (reads.includes(name) ? parameters[name] : undefined);
  const integer = (name: string, minimum: number, maximum: number, fallback: number): number => {
    const value = given(name) ?? fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
    throw new TaskRefused(`${name} must be a whole number from ${minimum} to ${maximum}.`);
  };
  const oneOf = <T extends string>(name: string, values: readonly T[], fallback: T): T => {
    const value = values.find((candidate) => candidate === (given(name) ?? fallback));
    if (value === undefined) throw new TaskRefused(`${name} must be one of ${values.join(', ')}.`);
    return value;
  };
  const seed = given('seed') === undefined ? undefined : integer('seed', 0, 2 ** 31 - 1, 0);
  const { widthPx, heightPx } = readSize(given('size') ?? size);
  const behaviour = oneOf('behaviour', BEHAVIOURS, 'succeed');
  const share = behaviour === 'wrong_output' ? 0.5 : 1;
  return {
    painter,
    seed,
    size: { widthPx: widthPx * share, heightPx: heightPx * share },
    behaviour,
    /** The least time until the task finishes, whatever its outcome. */
    delayMs: integer('delay_ms', 0, 60_000, 0),
    /** The number of outputs of a partial delivery. */
    deliver: integer('deliver', 0, 4, 1),
    errorCode: oneOf('error_code', PROVIDER_ERRORS, 'PROVIDER_REJECTED'),
    /** How many first attempts of a generation fail with a retryable error. With 0, all fail permanently. */
    retryableAttempts: integer('retryable_attempts', 0, 100, 0),
    count: integer('n', 1, 4, 1),
    format: oneOf('format', FORMATS, 'png'),
    /** Only of a video, as is the frame rate. */
    durationSeconds: integer('duration_seconds', 1, 10, 2),
    framesPerSecond: integer('fps', 1, 30, 12),
  };
}

function readSize(given: Json): Size {
  const [, width, height] = (typeof given === 'string' ? /^(\d{2,4})x(\d{2,4})$/.exec(given) : null) ?? [];
  const size = { widthPx: Number(width), heightPx: Number(height) };
  const isFit = (px: number): boolean => px >= 64 && px <= 1024 && px % 2 === 0;
  if (isFit(size.widthPx) && isFit(size.heightPx)) return size;
  throw new TaskRefused('size must be WIDTHxHEIGHT, two even numbers from 64 to 1024.');
}
