import type { MediaProbe, ProbedFile, ProbeLimits } from '../../../core/ports/media.js';
import type {
  Provider,
  ProviderCall,
  ProviderCapabilities,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { collected } from '../../fixtures/byte-streams.js';
import { settled } from '../../fixtures/clocks.js';

/** Counts work on real sockets, so that a manual clock can wait for it. */
export class Activity {
  private underWay = 0;
  private wake: () => void = () => undefined;

  async during<T>(work: () => Promise<T>): Promise<T> {
    const end = this.begin();
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** The stream, whose reading counts until it has ended or was left. */
  async *reading(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const end = this.begin();
    try {
      yield* bytes;
    } finally {
      end();
    }
  }

  /** Resolves when nothing is under way, and nothing followed from its end. */
  readonly rest = async (): Promise<void> => {
    for (await settled(); this.underWay > 0; await settled())
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
  };

  private begin(): () => void {
    this.underWay += 1;
    return () => {
      this.underWay -= 1;
      if (this.underWay === 0) this.wake();
    };
  }
}

/** A test's changes to the calls of one process. */
export interface Hooks {
  /** Called as each submission begins. */
  readonly submitting?: () => void;
  /** Called when a submission was answered, before core receives the answer; its result replaces the answer. */
  readonly submitted?: (answer: SubmitAnswer) => Promise<SubmitAnswer>;
  /** Called with each answer of `recover`, before core receives it. */
  readonly recovered?: (answer: RecoverAnswer) => Promise<void>;
}

/**
 * A provider as core sees it: it gets the tasks of its subject under core's tokens, whatever the generation requests,
 * because every adapter has its own models.
 */
export function asCoreSees(
  provider: Provider,
  task: (token: string) => Submission,
  activity: Activity,
  { submitting = () => undefined, submitted = async (answer) => answer, recovered = async () => undefined }: Hooks = {},
): Provider {
  const { settings } = task('00000000-0000-4000-8000-000000000000');
  return {
    capabilities: (): ProviderCapabilities => provider.capabilities(settings),
    submit: async ({ token, generationId, attempt, timeLeftMs }, call) => {
      submitting();
      const given = { ...task(token), generationId, attempt, timeLeftMs };
      const answer = await activity.during(() => provider.submit(given, call));
      return submitted('outputs' in answer ? { ...answer, outputs: outputsOf(answer, activity) } : answer);
    },
    poll: (reference, _, call) => activity.during(() => provider.poll(reference, settings, call)),
    output: async (reference: string, index: number, _: unknown, call: ProviderCall) =>
      activity.reading(await activity.during(() => provider.output(reference, index, settings, call))),
    cancel: (reference, _, call) => activity.during(() => provider.cancel(reference, settings, call)),
    recover: async (token, _, call) => {
      const answer = await activity.during(() => provider.recover(token, settings, call));
      await activity.during(() => recovered(answer));
      return answer;
    },
  };
}

function outputsOf({ outputs }: Extract<SubmitAnswer, { outputs: unknown }>, activity: Activity) {
  return outputs.map(({ bytes, ...output }) => ({
    ...output,
    bytes: { [Symbol.asyncIterator]: () => activity.reading(bytes) },
  }));
}

/** Accepts any file that is not empty as the requested media, because adapters in tests return no real outputs. */
export class AnyMediaProbe implements MediaProbe {
  async probe(file: ProbedFile, { kind = 'image' }: ProbeLimits): ReturnType<MediaProbe['probe']> {
    const contentBytes = (await collected(await file.read())).byteLength;
    if (contentBytes === 0) return { invalid: 'The file is empty.' };
    const facts = { widthPx: 64, heightPx: 64, contentBytes };
    return kind === 'image'
      ? { kind, mediaType: 'image/png', ...facts }
      : { kind, mediaType: 'video/mp4', durationMs: 1_000, ...facts };
  }
}
