/*
 * Goal: a submission counts as refused only where it certainly was not accepted; everything else is unknown and throws.
 * Method: a table of answers and failures for the pure decision, properties over all statuses, and a real server for the whole call.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { HttpError, type HttpErrorKind } from '../../../adapters/http/http-error.js';
import {
  type AnswerBody,
  outcomeOfAnswer,
  outcomeOfFailure,
  type SubmissionContract,
} from '../../../adapters/http/submission-outcome.js';

const NOW = Date.UTC(2026, 10, 23, 12);
const HTML: AnswerBody = { kind: 'other' };
const BROKEN: AnswerBody = { kind: 'broken-json' };
const json = (value: unknown): AnswerBody => ({ kind: 'json', value });

/** As an API would be described: a reused key is answered with 422, a full queue with 503. */
const CONTRACT: SubmissionContract = {
  seenBefore: (status, body) =>
    status === 422 && (body as { code?: string } | undefined)?.code === 'idempotency_key_reuse',
  refuses: (status, body) =>
    status === 503 && (body as { code?: string } | undefined)?.code === 'queue_full' ? 'capacity' : undefined,
};

function outcomeOf(status: number, body: AnswerBody = json({}), contract: SubmissionContract = {}) {
  return outcomeOfAnswer({ status, body }, contract, NOW);
}

describe('the outcome of a submission', () => {
  it('is answered for every status of success, whatever the body', () => {
    for (const status of [200, 201, 202, 204, 299])
      for (const body of [json({ id: 'a' }), HTML, BROKEN]) expect(outcomeOf(status, body)).to.equal('answered');
  });

  it('is a refusal for other 4xx, with the JSON of the answer', () => {
    for (const status of [400, 401, 402, 403, 404, 405, 410, 413, 415, 422, 451])
      expect(outcomeOf(status, json({ error: 'x' }))).to.deep.equal({
        outcome: 'refused',
        because: 'rejected',
        status,
        body: { error: 'x' },
      });
  });

  it('is a refusal for what a proxy answers before it passes the request on', () => {
    for (const status of [400, 413, 414, 417, 421, 426, 431, 463, 464, 494, 495, 496, 497, 498])
      for (const body of [json({}), HTML])
        expect(outcomeOf(status, body), String(status)).to.include({ outcome: 'refused', because: 'rejected' });
  });

  it("is a refusal for a proxy's or a firewall's 4xx in HTML", () => {
    for (const status of [403, 404, 413])
      expect(outcomeOf(status, HTML)).to.deep.equal({ outcome: 'refused', because: 'rejected', status });
  });

  it('is unknown for 4xx that may follow an accepted submission', () => {
    for (const status of [408, 409, 424, 425, 444, 460, 499])
      for (const body of [json({}), HTML]) expect(outcomeOf(status, body), String(status)).to.equal('unknown');
  });

  it('is a refusal for such 4xx where the contract says that nothing was accepted', () => {
    const contract: SubmissionContract = { refuses: (status) => (status === 409 ? 'capacity' : undefined) };
    expect(outcomeOf(409, json({}), contract)).to.include({ outcome: 'refused', because: 'capacity' });
    expect(outcomeOf(409, BROKEN, contract)).to.equal('unknown');
    expect(outcomeOf(408, json({}), contract)).to.equal('unknown');
    expect(outcomeOf(400, json({}), contract)).to.include({ because: 'rejected' });
  });

  it('is unknown for 4xx that claims to be JSON and is not', () => {
    for (const status of [400, 422, 429]) expect(outcomeOf(status, BROKEN)).to.equal('unknown');
  });

  it('is unknown for what the contract knows as seen before, and only that', () => {
    expect(outcomeOf(422, json({ code: 'idempotency_key_reuse' }), CONTRACT)).to.equal('unknown');
    expect(outcomeOf(422, json({ code: 'invalid_width' }), CONTRACT)).to.include({ because: 'rejected' });
    expect(outcomeOf(422, HTML, CONTRACT)).to.include({ because: 'rejected' });
  });

  it('is unknown for 5xx and 3xx unless the contract says that nothing was accepted', () => {
    for (const status of [301, 302, 307, 500, 501, 502, 503, 504, 524, 599])
      for (const body of [json({}), HTML, BROKEN]) expect(outcomeOf(status, body), String(status)).to.equal('unknown');
    expect(outcomeOf(503, json({ code: 'queue_full' }), CONTRACT)).to.include({ because: 'capacity', status: 503 });
    expect(outcomeOf(503, json({ code: 'other' }), CONTRACT)).to.equal('unknown');
    expect(outcomeOf(302, HTML, { refuses: (status) => (status === 302 ? 'rejected' : undefined) })).to.include({
      because: 'rejected',
    });
  });

  it('is a lack of capacity for 429, with the wait that the server asks for', () => {
    const waitOf = (retryAfter: string, date?: string) => {
      const outcome = outcomeOfAnswer(
        { status: 429, retryAfter, ...(date === undefined ? {} : { date }), body: json({}) },
        {},
        NOW,
      );
      expect(outcome).to.include({ outcome: 'refused', because: 'capacity' });
      return typeof outcome === 'object' ? outcome.retryAfterMs : undefined;
    };
    expect(outcomeOf(429)).to.deep.equal({ outcome: 'refused', because: 'capacity', status: 429, body: {} });
    expect(waitOf('30')).to.equal(30_000);
    expect(waitOf(' 0 ')).to.equal(0);
    expect(waitOf('1.25')).to.equal(1_250);
    expect(waitOf('Mon, 23 Nov 2026 12:01:00 GMT')).to.equal(60_000);
    expect(
      waitOf('Mon, 23 Nov 2026 15:01:00 GMT', 'Mon, 23 Nov 2026 15:00:00 GMT'),
      'by the clock of the server',
    ).to.equal(60_000);
    expect(waitOf('Mon, 23 Nov 2026 12:01:00 GMT', 'yesterday'), 'a date that is none').to.equal(60_000);
    for (const absurd of [
      '',
      '-1',
      '1e3',
      '0x10',
      'soon',
      '99999999999',
      '2592001',
      'Mon, 23 Nov 2026 11:59:59 GMT',
      'Mon, 23 Nov 2126 12:00:00 GMT',
      'Sun Nov  6 08:49:37 2026',
    ])
      expect(waitOf(absurd), absurd).to.equal(undefined);
    expect(outcomeOfAnswer({ status: 400, retryAfter: '30', body: json({}) }, {}, NOW)).to.not.have.property(
      'retryAfterMs',
    );
  });

  it('is never a refusal outside of 4xx without a contract, and never throws', () => {
    const bodies = fc.oneof(fc.constant(HTML), fc.constant(BROKEN), fc.jsonValue().map(json));
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 999 }),
        bodies,
        fc.option(fc.string(), { nil: undefined }),
        (status, body, retryAfter) => {
          const outcome = outcomeOfAnswer(
            { status, body, ...(retryAfter === undefined ? {} : { retryAfter }) },
            {},
            NOW,
          );
          if (typeof outcome !== 'object') return;
          expect(status).to.be.within(400, 499).and.not.be.oneOf([408, 409, 424, 425, 444, 460, 499]);
          expect(outcome.because).to.equal(status === 429 ? 'capacity' : 'rejected');
          expect(outcome.retryAfterMs ?? 0).to.be.within(0, 30 * 24 * 60 * 60 * 1_000);
        },
      ),
    );
  });

  describe('after a failure', () => {
    const KINDS: readonly HttpErrorKind[] = [
      'refused-address',
      'not-connected',
      'unknown-outcome',
      'too-large',
      'timed-out',
      'aborted',
      'bad-answer',
    ];

    it('is unreachable if no byte was sent, except for a call that was aborted', () => {
      for (const kind of KINDS) {
        const error = new HttpError(kind, 'It failed.', { requestSent: false });
        if (kind === 'aborted') expect(() => outcomeOfFailure(error)).to.throw(error);
        else expect(outcomeOfFailure(error)).to.deep.equal({ outcome: 'refused', because: 'unreachable' });
      }
    });

    it('is unknown if any byte was sent', () => {
      for (const kind of KINDS) {
        const error = new HttpError(kind, 'It failed.', { requestSent: true });
        expect(() => outcomeOfFailure(error)).to.throw(error);
      }
    });
  });
});
