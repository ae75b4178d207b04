import { HttpError } from '../../../adapters/http/http-error.js';
import type { SubmissionContract, SubmissionRefusal } from '../../../adapters/http/submission-outcome.js';
import { REFERENCE_UNREAD } from '../../../adapters/providers/shared/whole-references.js';
import type { JsonObject } from '../../../core/json.js';
import type {
  ProviderCall,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { type Flaw, FLAWED_READINGS, pollingAs, submittingAs } from './flawed-readings.js';
import { objectOf, type Told } from './reference-answers.js';
import { ReferenceProvider } from './reference-provider.js';

const NEVER: ProviderCall = { signal: new AbortController().signal };

const Retrying = submittingAs(async (answer, again) => answer.catch(again));

class Trusting extends ReferenceProvider {
  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const answer = await fetch(`${this.options.origin}/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.options.key}` },
      body: JSON.stringify({ token: submission.token, prompt: submission.prompt, count: submission.outputCount }),
      signal: call.signal as AbortSignal,
    });
    return answer.ok ? { accepted: true, reference: submission.token } : super.submit(submission, call);
  }
}

class TakingBrokenForRefused extends ReferenceProvider {
  protected override readonly contract: SubmissionContract = { refuses: () => 'rejected' };
}

class TakingSilenceForNo extends ReferenceProvider {
  override async recover(token: string, settings: JsonObject, call: ProviderCall): Promise<RecoverAnswer> {
    return super.recover(token, settings, call).catch(() => ({ found: false }));
  }
}

class Forgetful extends ReferenceProvider {
  private readonly own = new Set<string>();

  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const answer = await super.submit(submission, call);
    this.own.add(submission.token);
    return answer;
  }

  override async recover(token: string, settings: JsonObject, call: ProviderCall): Promise<RecoverAnswer> {
    return this.own.has(token) ? super.recover(token, settings, call) : { found: false };
  }

  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    return this.own.has(reference) ? super.poll(reference, settings, call) : { state: 'unknown' };
  }
}

const Leaking = pollingAs(async (report, { key }) =>
  report.catch((error: unknown) => {
    throw new Error(`The request with the key ${key} failed.`, { cause: error });
  }),
);

class Following extends ReferenceProvider {
  protected override async ask(path: string, call: ProviderCall): Promise<Told> {
    const answer = await fetch(`${this.options.origin}${path}`, {
      headers: { authorization: `Bearer ${this.options.key}` },
      signal: call.signal as AbortSignal,
    });
    return { status: answer.status, body: objectOf(await answer.json()), failed: (what) => new Error(what) };
  }
}

class Buffering extends ReferenceProvider {
  protected override async ask(path: string, call: ProviderCall): Promise<Told> {
    const answer = await fetch(`${this.options.origin}${path}`, {
      headers: { authorization: `Bearer ${this.options.key}` },
      redirect: 'error',
      signal: call.signal as AbortSignal,
    });
    const pieces: Uint8Array[] = [];
    if (answer.body !== null) for await (const piece of answer.body as AsyncIterable<Uint8Array>) pieces.push(piece);
    const body = objectOf(JSON.parse(Buffer.concat(pieces).toString('utf8')));
    return { status: answer.status, body, failed: (what) => new Error(what) };
  }
}

class Deaf extends ReferenceProvider {
  override async submit(submission: Submission): Promise<SubmitAnswer> {
    return super.submit(submission, NEVER);
  }

  override async poll(reference: string, settings: JsonObject): Promise<ProviderReport> {
    return super.poll(reference, settings, NEVER);
  }
}

class Repeating extends ReferenceProvider {
  protected override refused(refusal: SubmissionRefusal): SubmitAnswer {
    const answer = super.refused(refusal);
    const { error } = (refusal.body ?? {}) as { readonly error?: { readonly message?: string } };
    if (answer.accepted || error?.message === undefined) return answer;
    return { ...answer, failure: { ...answer.failure, message: error.message } };
  }
}

class Impatient extends ReferenceProvider {
  protected override refused({ retryAfterMs: _, ...refusal }: SubmissionRefusal): SubmitAnswer {
    return super.refused(refusal);
  }
}

class Throwing extends ReferenceProvider {
  protected override refused(refusal: SubmissionRefusal): SubmitAnswer {
    if (refusal.because === 'unreachable') throw new Error('The server cannot be reached.');
    return super.refused(refusal);
  }
}

const Fractional = pollingAs(async (reported) => {
  const report = await reported;
  return report.state === 'succeeded' ? { ...report, cost: { computeMs: 0.5 } } : report;
});

class SubmittingWithout extends ReferenceProvider {
  protected override async uploaded(submission: Submission, call: ProviderCall): Promise<boolean> {
    await super.uploaded(submission, call);
    return true;
  }
}

const Doubting = submittingAs(async (answer) => {
  if ((await answer) === REFERENCE_UNREAD) throw new Error('The request has failed.');
  return answer;
});
const Blaming = submittingAs(async (answer) =>
  (await answer) === REFERENCE_UNREAD ? { ...REFERENCE_UNREAD, because: 'capacity' } : answer,
);

class Guessing extends ReferenceProvider {
  override async recover(): Promise<RecoverAnswer> {
    return { found: false };
  }
}

const Empty = submittingAs(async (answer) =>
  answer.catch((error: unknown) => {
    if (error instanceof HttpError) throw error;
    return { accepted: true, outputs: [] };
  }),
);
const GivingOnce = submittingAs(async (answered) => {
  const answer = await answered;
  if (!('outputs' in answer)) return answer;
  return { ...answer, outputs: answer.outputs.map((output) => ({ ...output, bytes: generatorOf(output.bytes) })) };
});

/** It gives nothing once it has ended. */
async function* generatorOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes;
}

const SENT_ONCE = 'sends a task once and does not know whether it was taken when';
const UNREAD = "refuses for certain, and not for the vendor's sake, a task whose reference";

export const FLAWS: readonly Flaw[] = [
  ['sends a task again', Retrying, `${SENT_ONCE} its answer is lost`],
  ['trusts every answer', Trusting, `${SENT_ONCE} a page of HTML answers with status 200`],
  ['takes a broken server for a refusal', TakingBrokenForRefused, `${SENT_ONCE} status 502 answers without a body`],
  ['takes silence for a no', TakingSilenceForNo, 'never says that there is no task when the answer is lost'],
  [
    'says too early that there is no task',
    Forgetful,
    'finds a task whose answer was lost, from another process, and serves it there',
  ],
  ['knows only the tasks of its own process', Forgetful, 'serves a reference from another process, to its last output'],
  ['has its key in an error', Leaking, 'shows its key in nothing, also when the server repeats it'],
  ['follows redirects', Following, 'follows no redirect of a poll to another address'],
  ['reads whatever comes', Buffering, 'throws for a poll whose answer has no end, within its bounds'],
  ['ignores its signal', Deaf, 'ends soon when it is aborted while no answer comes, and closes the connection'],
  ['sends on after its signal', Deaf, 'never completes a task whose reference is held back until the call is aborted'],
  ["repeats the vendor's words", Repeating, 'refuses as PROVIDER_REJECTED: anything else'],
  ['ignores how long it is asked to wait', Impatient, 'waits for capacity as many seconds as it is asked to'],
  [
    'does not know that a server without a connection has taken nothing',
    Throwing,
    'refuses for capacity when nothing listens',
  ],
  [
    'submits a task without its reference',
    SubmittingWithout,
    'submits no task whose reference the vendor has not taken',
    'by-id',
  ],
  ['does not know that half a request is never taken', Doubting, `${UNREAD} cannot be read to its end`, 'immediate'],
  [
    'takes a file that our store does not have for a vendor that is away',
    Blaming,
    `${UNREAD} cannot be opened`,
    'by-id',
  ],
  [
    'says that there is no task though it cannot know',
    Guessing,
    'ends failed after one request when the answer is lost (fail)',
    'by-id',
  ],
  ['takes a foreign answer for one without pictures', Empty, `${SENT_ONCE} its answer is {}`, 'immediate'],
  [
    'gives outputs that can be read once',
    GivingOnce,
    'sends no second request when our own store fails after it has read the outputs',
    'immediate',
  ],
  ['counts in fractions', Fractional, 'says what a finished task has cost'],
  ...FLAWED_READINGS,
];
