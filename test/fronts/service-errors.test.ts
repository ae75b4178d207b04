/**
 * Goal: core's messages mention neither HTTP nor gRPC; each front words them in its own terms.
 * Method: the catalogue of codes and each front's sentences, all of them.
 */
import { expect } from 'chai';
import { GRPC_MESSAGES } from '../../apps/grpc/error-status.js';
import { HTTP_MESSAGES } from '../../apps/http/host/errors.js';
import { messageOf } from '../../apps/service-errors.js';
import { type ErrorCode, ERRORS, ServiceError } from '../../core/errors.js';
import { TASK_ERRORS } from '../../core/generation/generation.js';

const OF_HTTP = /header|Idempotency-Key|Authorization|Bearer|X-[A-Z]|application\/json|status code|\bHTTP\b/;
const OF_GRPC = /[a-z]_[a-z]|metadata|grpc/i;

describe('the sentence of a refusal', () => {
  for (const [code, { message }] of Object.entries({ ...ERRORS, ...TASK_ERRORS }) as [
    ErrorCode,
    { readonly message: string },
  ][]) {
    it(`of ${code} names no front in core`, () => {
      expect(message).not.to.match(OF_HTTP).and.not.to.match(OF_GRPC);
    });
  }

  it("is the front's own where it has one for the code", () => {
    expect(messageOf(new ServiceError('IDEMPOTENCY_KEY_REQUIRED'), HTTP_MESSAGES)).to.equal(
      'Send an Idempotency-Key header.',
    );
    expect(messageOf(new ServiceError('IDEMPOTENCY_KEY_REQUIRED'), GRPC_MESSAGES)).to.equal(
      'idempotency_key is required.',
    );
    expect(messageOf(new ServiceError('TASK_NOT_FOUND'), HTTP_MESSAGES)).to.equal(ERRORS.TASK_NOT_FOUND.message);
  });

  it('is kept if the refusal is more specific than its code', () => {
    expect(messageOf(new ServiceError('DEVELOPER_TOKEN_REQUIRED', 'More is known.'), HTTP_MESSAGES)).to.equal(
      'More is known.',
    );
  });

  it('over gRPC names no term of HTTP', () => {
    for (const sentence of Object.values(GRPC_MESSAGES)) expect(sentence).not.to.match(OF_HTTP);
  });
});
