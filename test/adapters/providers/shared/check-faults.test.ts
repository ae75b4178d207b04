/*
 * Goal: an operator reads in one sentence why a server could not be reached.
 * Method: the errors of the HTTP client, each as it comes.
 */
import { expect } from 'chai';
import { HttpError, type HttpErrorDetails, type HttpErrorKind } from '../../../../adapters/http/http-error.js';
import { connectionFault } from '../../../../adapters/providers/shared/check-faults.js';

const ORIGIN = 'https://api.example.com';

describe('a try of a connection', () => {
  it('says what is wrong', () => {
    const faults: readonly (readonly [HttpErrorKind, HttpErrorDetails, string])[] = [
      ['not-connected', { requestSent: false, code: 'ECONNREFUSED' }, 'Nothing answers at'],
      ['timed-out', { requestSent: false, phase: 'connect' }, 'Nothing answers at'],
      ['not-connected', { requestSent: false, code: 'ENOTFOUND' }, 'The host of'],
      ['not-connected', { requestSent: false, code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, `${ORIGIN} has no certificate`],
      ['not-connected', { requestSent: false, code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, `${ORIGIN} has no certificate`],
      ['not-connected', { requestSent: false, code: 'PROXY_ANSWERED_407' }, 'The proxy made no connection'],
      [
        'not-connected',
        { requestSent: false, code: 'PROXY_SELF_SIGNED_CERT_IN_CHAIN' },
        'The proxy made no connection',
      ],
      ['refused-address', { requestSent: false }, `${ORIGIN} is an address`],
      ['aborted', { requestSent: true }, 'The call to'],
      ['bad-answer', { requestSent: true }, `${ORIGIN} answers what cannot be read`],
      ['not-connected', { requestSent: false, code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, `${ORIGIN} does not speak TLS`],
      ['not-connected', { requestSent: false, code: 'ECONNRESET' }, `${ORIGIN} closed the connection before TLS`],
      ['not-connected', { requestSent: false, code: 'ERR_SSL_PACKET_LENGTH_TOO_LONG' }, `${ORIGIN} does not speak TLS`],
      ['unknown-outcome', { requestSent: true, code: 'ECONNRESET' }, `${ORIGIN} did not give`],
    ];
    for (const [kind, details, beginning] of faults) {
      const sentence = connectionFault(new HttpError(kind, 'what the client says', details), ORIGIN);
      expect(sentence.startsWith(beginning), sentence).to.equal(true);
      expect(sentence).to.include(ORIGIN).and.to.match(/\.$/).and.not.include('what the client says');
    }
  });

  it('throws what is a mistake in the program', () => {
    expect(() => connectionFault(new TypeError('x'), ORIGIN)).to.throw(TypeError);
  });
});
