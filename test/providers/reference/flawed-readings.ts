import { request as nodeRequest } from 'node:http';
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import { HttpError } from '../../../adapters/http/http-error.js';
import type { HttpRequest } from '../../../adapters/http/http-request.js';
import type { SubmissionRefusal } from '../../../adapters/http/submission-outcome.js';
import { failure, refusal } from '../../../adapters/providers/shared/sentences.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderCall, ProviderReport, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { readableAgain } from '../../fixtures/byte-streams.js';
import type { Told } from './reference-answers.js';
import type { ReferenceKind } from './reference-fake.js';
import { type ReferenceOptions, ReferenceProvider } from './reference-provider.js';

/** A provider with a mistake. */
type Flawed = new (options: ReferenceOptions) => ReferenceProvider;

/**
 * One mistake that an adapter can make, the tests of the contract that must find it, and the kind of provider; one that is
 * queried by token when absent.
 */
export type Flaw = readonly [name: string, provider: Flawed, failing: string | readonly string[], kind?: ReferenceKind];

/** A provider whose submissions end as the mistake makes them. */
export function submittingAs(
  mistake: (answer: Promise<SubmitAnswer>, again: () => Promise<SubmitAnswer>) => Promise<SubmitAnswer>,
): Flawed {
  return class extends ReferenceProvider {
    override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
      return mistake(super.submit(submission, call), () => super.submit(submission, call));
    }
  };
}

/** A provider whose polls end as the mistake makes them. */
export function pollingAs(
  mistake: (report: Promise<ProviderReport>, options: ReferenceOptions) => Promise<ProviderReport>,
): Flawed {
  return class extends ReferenceProvider {
    override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
      return mistake(super.poll(reference, settings, call), this.options);
    }
  };
}

/** A provider that takes this for the file of an answer, if it is not undefined. */
function readingFiles(mistake: (answer: HttpAnswer) => AsyncIterable<Uint8Array> | undefined): Flawed {
  return class extends ReferenceProvider {
    protected override async file(answer: HttpAnswer): Promise<AsyncIterable<Uint8Array>> {
      return mistake(answer) ?? super.file(answer);
    }
  };
}

function noFile(answer: HttpAnswer): never {
  answer.discard();
  throw answer.error('bad-answer', 'There is no file.');
}

/*
 * Providers that misread what a vendor answers: a submission, a poll, a redirect or a file.
 */

// ---- submissions

class ReadingDeclaredJson extends ReferenceProvider {
  protected override async read(answer: HttpAnswer): Promise<unknown> {
    if (answer.declares !== 'json') throw answer.error('bad-answer', 'The answer declares another type than JSON.');
    return answer.json();
  }
}

class ReadingStrictly extends ReferenceProvider {
  protected override async read(answer: HttpAnswer): Promise<unknown> {
    return JSON.parse(Buffer.from(await answer.bytes()).toString('utf8'));
  }
}

class ReadingFirstPiece extends ReferenceProvider {
  protected override async read(answer: HttpAnswer): Promise<unknown> {
    for await (const piece of answer.body()) return JSON.parse(Buffer.from(piece).toString('utf8'));
    return undefined;
  }
}

class LeavingAtInformation extends ReferenceProvider {
  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const { token, prompt, outputCount: count } = submission;
    await new Promise<void>((resolve, reject) => {
      const sent = nodeRequest(`${this.options.origin}/tasks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.options.key}` },
      });
      sent.on('information', () => sent.destroy(new Error('This is not the answer.')));
      sent.on('error', reject).on('response', (answer) => answer.resume().on('end', resolve));
      sent.end(JSON.stringify({ token, prompt, count }));
    });
    return super.submit(submission, call);
  }
}

/** It acts on the status alone. */
class IgnoringErrors extends ReferenceProvider {
  protected override refused(refused: SubmissionRefusal): SubmitAnswer {
    return refused.status === undefined ? super.refused(refused) : refusal('rejected');
  }
}

class ThrowingAtErrors extends ReferenceProvider {
  protected override refused(): SubmitAnswer {
    throw new Error('The task was refused.');
  }
}

/** The answer in place of one of success that has an error in it. */
const takingErrorsFor = (made: SubmitAnswer) =>
  submittingAs(async (answer) =>
    answer.catch((error: unknown) => {
      if (error instanceof HttpError) throw error;
      return made;
    }),
  );
const TakingErrorsForNothing = takingErrorsFor(refusal('broke'));
const TakingErrorsForPictures = takingErrorsFor({
  accepted: true,
  outputs: [{ kind: 'image', mediaType: 'image/png', bytes: readableAgain(Buffer.from('{"error":{}}')) }],
});

// ---- polls

const TakingSilenceForFailure = pollingAs(async (report) =>
  report.catch(() => ({ state: 'failed', failure: failure('broke') })),
);
const TakingSilenceForUnknown = pollingAs(async (report) => report.catch(() => ({ state: 'unknown' })));

class TakingEvery404ForUnknown extends ReferenceProvider {
  protected override async ask(path: string, call: ProviderCall): Promise<Told> {
    const told = await super.ask(path, call);
    return told.status === 404 ? { ...told, body: { error: { code: 'no_such_task' } } } : told;
  }
}

const WithoutHints = pollingAs(async (report) =>
  report.catch(() => {
    throw new Error('The poll has failed.');
  }),
);
const AccusingTheKey = pollingAs(async (report) =>
  report.catch((error: unknown) => {
    throw Object.assign(new Error('The poll has failed.', { cause: error }), { isAccessRefused: true });
  }),
);

class Forgetting extends ReferenceProvider {
  private readonly lost = new Set<string>();

  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    if (this.lost.has(reference)) return { state: 'unknown' };
    return super.poll(reference, settings, call).catch((error: unknown) => {
      this.lost.add(reference);
      throw error;
    });
  }
}

/** Replaces the report of an unknown status. */
const atUnknownStatus = (made: ProviderReport) =>
  pollingAs(async (report) => ('unknownStatus' in (await report) ? made : report));

class KnowingOwnWordsOnly extends ReferenceProvider {
  private word: unknown;

  protected override async ask(path: string, call: ProviderCall): Promise<Told> {
    const told = await super.ask(path, call);
    this.word = told.body?.['status'];
    return told;
  }

  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const report = await super.poll(reference, settings, call);
    if (report.state !== 'running' || this.word === 'running' || this.word === 'queued') return report;
    return { state: 'running', unknownStatus: String(this.word).slice(0, 64) };
  }
}

// ---- files

const TakingAnyBodyForFile = readingFiles((answer) => answer.body());
const TakingTextForFile = readingFiles((answer) => (answer.status === 200 ? answer.body() : noFile(answer)));
const TrustingTypes = readingFiles((answer) =>
  answer.status === 200 && answer.header('content-type') === 'image/png' ? answer.body() : noFile(answer),
);
const DeliveringParts = readingFiles((answer) => (answer.status === 200 ? withoutFailure(answer.body()) : undefined));

async function* withoutFailure(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch {
    return;
  }
}

// ---- redirects

class FollowingNone extends ReferenceProvider {
  protected override request(...args: Parameters<ReferenceProvider['request']>): HttpRequest {
    // Whatever the caller sets afterwards is not taken over.
    return Object.defineProperty(super.request(...args), 'maxRedirects', { value: 0, enumerable: true });
  }

  override async output(reference: string, index: number, _: JsonObject, call: ProviderCall) {
    return this.file(await this.client.request(this.request('GET', `/tasks/${reference}/pictures/${index}`, call)));
  }
}

/** It sends its key to every redirect target, however many there are. */
class FollowingAll extends ReferenceProvider {
  override async output(reference: string, index: number, _: JsonObject, call: ProviderCall) {
    let url = `${this.options.origin}/tasks/${reference}/pictures/${index}`;
    for (;;) {
      const answer = await fetch(url, {
        headers: { authorization: `Bearer ${this.options.key}` },
        redirect: 'manual',
        signal: call.signal as AbortSignal,
      });
      const location = answer.headers.get('location');
      if (location === null) {
        if (!answer.ok || answer.body === null) throw new Error('There is no file.');
        return answer.body as AsyncIterable<Uint8Array>;
      }
      url = new URL(location, url).href;
    }
  }
}

class TakingRedirectsForFiles extends ReferenceProvider {
  override async output(reference: string, index: number, settings: JsonObject, call: ProviderCall) {
    return super.output(reference, index, settings, call).catch((error: unknown) => {
      if (error instanceof HttpError && error.kind === 'refused-address') return readableAgain(Buffer.from('moved'));
      throw error;
    });
  }
}

const takesAnswer = (that: string) => `takes an answer in JSON that ${that}, whatever type it declares`;
const refusesFor = (status: number) =>
  `refuses once for the content policy that an answer of ${status} names, with the input in it`;
const OTHER_ERROR = 'does not know whether a task was taken when an answer of success has an error of another kind';
const throwsFor = (answer: string) =>
  `throws for a poll that is answered with ${answer}, and knows the task afterwards`;
const SILENT_POLLS = [
  '429',
  '429 in HTML',
  '401',
  '403',
  '500',
  '502 in HTML',
  '503',
  '404 in HTML',
  '404 of a gateway',
  '410 in HTML',
  '200 in HTML',
  '200 without a body',
  'an error in 200',
  'half of it',
].map(throwsFor);
const UNKNOWN_STATUS = 'counts a task with an unknown status as running, and names the status';
const noOutput = (when: string) => `delivers no output, and not a part of one as if it were whole, when ${when}`;
const redirectsTo = (location: string) => `throws for an output that redirects to ${location}`;

export const FLAWED_READINGS: readonly Flaw[] = [
  [
    'reads JSON only where it is declared',
    ReadingDeclaredJson,
    [takesAnswer('is one line'), takesAnswer('has white space around it')],
  ],
  [
    'reads JSON as the standard has it',
    ReadingStrictly,
    [takesAnswer('has a byte order mark'), takesAnswer('has NaN and Infinity in it')],
  ],
  [
    'takes the first piece for the answer',
    ReadingFirstPiece,
    'takes an answer whose headers come before the task is done',
  ],
  ['takes a response of 1xx for the answer', LeavingAtInformation, 'takes an answer after responses of 1xx'],
  ['acts on the status of a refusal alone', IgnoringErrors, [200, 400, 403, 422, 500].map(refusesFor)],
  ['takes a refusal for an unknown outcome', ThrowingAtErrors, [200, 500].map(refusesFor), 'by-id'],
  ['takes an error in a status of success for a refusal', TakingErrorsForNothing, OTHER_ERROR],
  ['takes an error in a status of success for a picture', TakingErrorsForPictures, OTHER_ERROR, 'immediate'],
  ['takes a poll that says nothing for a failed task', TakingSilenceForFailure, SILENT_POLLS],
  ['takes a poll that says nothing for a lost task', TakingSilenceForUnknown, SILENT_POLLS],
  ['takes the 404 of a gateway for a lost task', TakingEvery404ForUnknown, throwsFor('404 of a gateway')],
  ['loses a task after a poll that failed', Forgetting, SILENT_POLLS],
  [
    'does not say how long to wait, and that the key was refused',
    WithoutHints,
    ['429', '429 in HTML', '503', '401', '403'].map(throwsFor),
  ],
  [
    'takes every error for a refused key',
    AccusingTheKey,
    ['429', '500', '502 in HTML', '404 in HTML', 'half of it'].map(throwsFor),
  ],
  [
    'takes an unknown status for a failed task',
    atUnknownStatus({ state: 'failed', failure: failure('broke') }),
    UNKNOWN_STATUS,
  ],
  ['takes an unknown status for a lost task', atUnknownStatus({ state: 'unknown' }), UNKNOWN_STATUS],
  ['does not name an unknown status', atUnknownStatus({ state: 'running' }), UNKNOWN_STATUS],
  [
    'knows its own words for a status only',
    KnowingOwnWordsOnly,
    'knows the words of other vendors for a task that goes on',
  ],
  [
    'takes any body for a file',
    TakingAnyBodyForFile,
    [
      ...['status 202 answers', 'status 404 answers', 'status 500 answers', 'status 429 answers'].map(noOutput),
      redirectsTo('\\'),
    ],
  ],
  [
    'takes a text for a file',
    TakingTextForFile,
    [
      'status 200 answers without a body',
      'an error in JSON answers with status 200',
      'a page answers as a file',
      'a page of HTML answers with status 200',
    ].map(noOutput),
  ],
  [
    'goes by the type that a file declares',
    TrustingTypes,
    ['delivers an output whatever type it declares', noOutput('an error in JSON answers with status 200')],
  ],
  ['delivers a part of a file', DeliveringParts, noOutput('the answer is truncated')],
  ['follows no redirect of a file', FollowingNone, 'follows up to three redirects of an output'],
  [
    'follows every redirect of a file, with its key',
    FollowingAll,
    [
      'throws for an output that redirects in a circle, and delivers it afterwards',
      'follows no redirect of an output to a private address',
    ],
  ],
  [
    'takes a redirect for a file',
    TakingRedirectsForFiles,
    ['ftp://127.0.0.1/x', 'http://user:pass@127.0.0.1/', 'https://169.254.169.254/', 'data:,x'].map(redirectsTo),
  ],
];
