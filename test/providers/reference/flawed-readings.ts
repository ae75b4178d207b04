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

/** One mistake that an adapter can make, and the tests of the contract that must find it. */
export interface Flaw {
  readonly name: string;
  /** The kind of provider; one that is queried by token when absent. */
  readonly kind?: ReferenceKind;
  readonly make: (options: ReferenceOptions) => ReferenceProvider;
  readonly failing: string | readonly string[];
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

class TakingErrorsForNothing extends ReferenceProvider {
  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    return super.submit(submission, call).catch((error: unknown) => {
      if (error instanceof HttpError) throw error;
      return refusal('broke');
    });
  }
}

class TakingErrorsForPictures extends ReferenceProvider {
  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    return super.submit(submission, call).catch((error: unknown) => {
      if (error instanceof HttpError) throw error;
      const bytes = readableAgain(Buffer.from('{"error":{}}'));
      return { accepted: true, outputs: [{ kind: 'image', mediaType: 'image/png', bytes }] };
    });
  }
}

// ---- polls

class TakingSilenceForFailure extends ReferenceProvider {
  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    return super.poll(reference, settings, call).catch(() => ({ state: 'failed', failure: failure('broke') }));
  }
}

class TakingSilenceForUnknown extends ReferenceProvider {
  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    return super.poll(reference, settings, call).catch(() => ({ state: 'unknown' }));
  }
}

class TakingEvery404ForUnknown extends ReferenceProvider {
  protected override async ask(path: string, call: ProviderCall): Promise<Told> {
    const told = await super.ask(path, call);
    return told.status === 404 ? { ...told, body: { error: { code: 'no_such_task' } } } : told;
  }
}

class WithoutHints extends ReferenceProvider {
  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    return super.poll(reference, settings, call).catch(() => {
      throw new Error('The poll has failed.');
    });
  }
}

class AccusingTheKey extends ReferenceProvider {
  override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    return super.poll(reference, settings, call).catch((error: unknown) => {
      throw Object.assign(new Error('The poll has failed.', { cause: error }), { isAccessRefused: true });
    });
  }
}

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
function atUnknownStatus(make: (report: ProviderReport) => ProviderReport) {
  return class extends ReferenceProvider {
    override async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
      const report = await super.poll(reference, settings, call);
      return 'unknownStatus' in report ? make(report) : report;
    }
  };
}

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

class TakingAnyBodyForFile extends ReferenceProvider {
  protected override async file(answer: HttpAnswer): Promise<AsyncIterable<Uint8Array>> {
    return answer.body();
  }
}

class TakingTextForFile extends ReferenceProvider {
  protected override async file(answer: HttpAnswer): Promise<AsyncIterable<Uint8Array>> {
    if (answer.status === 200) return answer.body();
    answer.discard();
    throw answer.error('bad-answer', 'There is no file.');
  }
}

class TrustingTypes extends ReferenceProvider {
  protected override async file(answer: HttpAnswer): Promise<AsyncIterable<Uint8Array>> {
    if (answer.status === 200 && answer.header('content-type') === 'image/png') return answer.body();
    answer.discard();
    throw answer.error('bad-answer', 'There is no file.');
  }
}

class DeliveringParts extends ReferenceProvider {
  protected override async file(answer: HttpAnswer): Promise<AsyncIterable<Uint8Array>> {
    if (answer.status !== 200) return super.file(answer);
    const bytes = answer.body();
    return (async function* () {
      try {
        yield* bytes;
      } catch {
        return;
      }
    })();
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
  {
    name: 'reads JSON only where it is declared',
    make: (o) => new ReadingDeclaredJson(o),
    failing: [takesAnswer('is one line'), takesAnswer('has white space around it')],
  },
  {
    name: 'reads JSON as the standard has it',
    make: (o) => new ReadingStrictly(o),
    failing: [takesAnswer('has a byte order mark'), takesAnswer('has NaN and Infinity in it')],
  },
  {
    name: 'takes the first piece for the answer',
    make: (o) => new ReadingFirstPiece(o),
    failing: 'takes an answer whose headers come before the task is done',
  },
  {
    name: 'takes a response of 1xx for the answer',
    make: (o) => new LeavingAtInformation(o),
    failing: 'takes an answer after responses of 1xx',
  },
  {
    name: 'acts on the status of a refusal alone',
    make: (o) => new IgnoringErrors(o),
    failing: [200, 400, 403, 422, 500].map(refusesFor),
  },
  {
    name: 'takes a refusal for an unknown outcome',
    kind: 'by-id',
    make: (o) => new ThrowingAtErrors(o),
    failing: [200, 500].map(refusesFor),
  },
  {
    name: 'takes an error in a status of success for a refusal',
    make: (o) => new TakingErrorsForNothing(o),
    failing: OTHER_ERROR,
  },
  {
    name: 'takes an error in a status of success for a picture',
    kind: 'immediate',
    make: (o) => new TakingErrorsForPictures(o),
    failing: OTHER_ERROR,
  },
  {
    name: 'takes a poll that says nothing for a failed task',
    make: (o) => new TakingSilenceForFailure(o),
    failing: SILENT_POLLS,
  },
  {
    name: 'takes a poll that says nothing for a lost task',
    make: (o) => new TakingSilenceForUnknown(o),
    failing: SILENT_POLLS,
  },
  {
    name: 'takes the 404 of a gateway for a lost task',
    make: (o) => new TakingEvery404ForUnknown(o),
    failing: throwsFor('404 of a gateway'),
  },
  {
    name: 'loses a task after a poll that failed',
    make: (o) => new Forgetting(o),
    failing: SILENT_POLLS,
  },
  {
    name: 'does not say how long to wait, and that the key was refused',
    make: (o) => new WithoutHints(o),
    failing: ['429', '429 in HTML', '503', '401', '403'].map(throwsFor),
  },
  {
    name: 'takes every error for a refused key',
    make: (o) => new AccusingTheKey(o),
    failing: ['429', '500', '502 in HTML', '404 in HTML', 'half of it'].map(throwsFor),
  },
  {
    name: 'takes an unknown status for a failed task',
    make: (o) => new (atUnknownStatus(() => ({ state: 'failed', failure: failure('broke') })))(o),
    failing: UNKNOWN_STATUS,
  },
  {
    name: 'takes an unknown status for a lost task',
    make: (o) => new (atUnknownStatus(() => ({ state: 'unknown' })))(o),
    failing: UNKNOWN_STATUS,
  },
  {
    name: 'does not name an unknown status',
    make: (o) => new (atUnknownStatus(() => ({ state: 'running' })))(o),
    failing: UNKNOWN_STATUS,
  },
  {
    name: 'knows its own words for a status only',
    make: (o) => new KnowingOwnWordsOnly(o),
    failing: 'knows the words of other vendors for a task that goes on',
  },
  {
    name: 'takes any body for a file',
    make: (o) => new TakingAnyBodyForFile(o),
    failing: [
      ...['status 202 answers', 'status 404 answers', 'status 500 answers', 'status 429 answers'].map(noOutput),
      redirectsTo('\\'),
    ],
  },
  {
    name: 'takes a text for a file',
    make: (o) => new TakingTextForFile(o),
    failing: [
      'status 200 answers without a body',
      'an error in JSON answers with status 200',
      'a page answers as a file',
      'a page of HTML answers with status 200',
    ].map(noOutput),
  },
  {
    name: 'goes by the type that a file declares',
    make: (o) => new TrustingTypes(o),
    failing: ['delivers an output whatever type it declares', noOutput('an error in JSON answers with status 200')],
  },
  {
    name: 'delivers a part of a file',
    make: (o) => new DeliveringParts(o),
    failing: noOutput('the answer is truncated'),
  },
  {
    name: 'follows no redirect of a file',
    make: (o) => new FollowingNone(o),
    failing: 'follows up to three redirects of an output',
  },
  {
    name: 'follows every redirect of a file, with its key',
    make: (o) => new FollowingAll(o),
    failing: [
      'throws for an output that redirects in a circle, and delivers it afterwards',
      'follows no redirect of an output to a private address',
    ],
  },
  {
    name: 'takes a redirect for a file',
    make: (o) => new TakingRedirectsForFiles(o),
    failing: ['ftp://127.0.0.1/x', 'http://user:pass@127.0.0.1/', 'https://169.254.169.254/', 'data:,x'].map(
      redirectsTo,
    ),
  },
];
