import { PROVIDER_ERRORS, type TaskErrorCode } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** The plan of a task, from the model's settings and the task's parameters. */
export type Plan =
  | { readonly painter: 'noop'; readonly count: number }
  | {
      readonly painter: 'image';
      readonly count: number;
      readonly size: Size;
      readonly format: ImageFormat;
      readonly seed?: number;
    }
  | {
      readonly painter: 'video';
      readonly size: Size;
      readonly durationSeconds: number;
      readonly framesPerSecond: number;
      readonly seed?: number;
    }
  | {
      readonly painter: 'test';
      readonly count: number;
      readonly size: Size;
      readonly seed?: number;
      readonly behaviour: Behaviour;
    };

export const BEHAVIOURS = [
  'succeed',
  'slow',
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

/** The behaviour of a task of the test model. */
export interface Behaviour {
  readonly name: (typeof BEHAVIOURS)[number];
  /** The least time until the task finishes, whatever its outcome; 0 to 60,000. */
  readonly delayMs: number;
  /** Outputs of a partial delivery. */
  readonly deliver: number;
  readonly errorCode: TaskErrorCode;
  /**
   * This many first attempts of a generation fail with a retryable error, then one succeeds; 0: it fails permanently.
   */
  readonly retryableAttempts: number;
}

/** Settings or parameters that cannot be used. The message is one sentence on what would be right. */
export class PlanInvalid extends Error {
  constructor(
    readonly at: 'settings' | 'parameters',
    message: string,
  ) {
    super(message);
    this.name = 'PlanInvalid';
  }
}

const PAINTERS = ['image', 'video', 'noop', 'test'] as const;
const SEED_MAX = 2 ** 31 - 1;

/** The painter a model's `provider_settings` names. */
export function readPainter(settings: JsonObject): Plan['painter'] {
  const unknown = Object.keys(settings).find((name) => name !== 'painter');
  if (unknown !== undefined)
    throw new PlanInvalid('settings', `The sandbox provider has one setting, painter; "${unknown}" is unknown.`);
  const painter = PAINTERS.find((name) => name === settings['painter']);
  if (painter === undefined)
    throw new PlanInvalid('settings', `The sandbox provider's setting painter must be one of ${PAINTERS.join(', ')}.`);
  return painter;
}

/** What is wrong with a model's settings for the sandbox, as a sentence; nothing when they can be used. */
export function settingsFault(settings: JsonObject): string | undefined {
  try {
    readPainter(settings);
    return undefined;
  } catch (error) {
    if (error instanceof PlanInvalid) return error.message;
    throw error;
  }
}

export function readPlan(settings: JsonObject, parameters: JsonObject): Plan {
  const painter = readPainter(settings);
  const read = new ParameterReader(parameters);
  const seed = parameters['seed'] === undefined ? {} : { seed: read.integer('seed', 0, SEED_MAX, 0) };
  switch (painter) {
    case 'noop':
      return { painter, count: read.integer('n', 1, 4, 1) };
    case 'image':
      return {
        painter,
        count: read.integer('n', 1, 4, 1),
        size: read.size('512x512'),
        format: read.oneOf('format', ['png', 'jpeg', 'webp'], 'png'),
        ...seed,
      };
    case 'video':
      return {
        painter,
        size: read.size('512x288'),
        durationSeconds: read.integer('duration_seconds', 1, 10, 2),
        framesPerSecond: read.integer('fps', 1, 30, 12),
        ...seed,
      };
    case 'test':
      return {
        painter,
        count: read.integer('n', 1, 4, 1),
        size: read.size('256x256'),
        behaviour: read.behaviour(),
        ...seed,
      };
  }
}

class ParameterReader {
  constructor(readonly parameters: JsonObject) {}

  integer(name: string, minimum: number, maximum: number, fallback: number): number {
    const value = this.parameters[name] ?? fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
    throw new PlanInvalid('parameters', `${name} must be a whole number from ${minimum} to ${maximum}.`);
  }

  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const given = this.parameters[name] ?? fallback;
    const value = values.find((candidate) => candidate === given);
    if (value === undefined) throw new PlanInvalid('parameters', `${name} must be one of ${values.join(', ')}.`);
    return value;
  }

  size(fallback: string): Size {
    const given = this.parameters['size'] ?? fallback;
    const [, width, height] = (typeof given === 'string' ? /^(\d{2,4})x(\d{2,4})$/.exec(given) : null) ?? [];
    const size = { widthPx: Number(width), heightPx: Number(height) };
    const isFit = (px: number): boolean => px >= 64 && px <= 1024 && px % 2 === 0;
    if (isFit(size.widthPx) && isFit(size.heightPx)) return size;
    throw new PlanInvalid('parameters', 'size must be WIDTHxHEIGHT, two even numbers from 64 to 1024.');
  }

  behaviour(): Behaviour {
    return {
      name: this.oneOf('behaviour', BEHAVIOURS, 'succeed'),
      delayMs: this.integer('delay_ms', 0, 60_000, 0),
      deliver: this.integer('deliver', 0, 4, 1),
      errorCode: this.oneOf('error_code', PROVIDER_ERRORS, 'PROVIDER_REJECTED'),
      retryableAttempts: this.integer('retryable_attempts', 0, 100, 0),
    };
  }
}
