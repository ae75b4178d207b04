import { expect } from 'chai';
import { ROUTES } from '../../../../apps/http/developer/routes.js';
import { STATUSES } from '../../../../apps/http/host/errors.js';
import type { ErrorCode } from '../../../../core/errors.js';
import type { FrontClient } from '../../vectors/play.js';
import { sendHttp } from '../host/rest-client.js';
import { expectConformity } from './conformity.js';

const STATUS_OF_SUCCESS = new Map(ROUTES.map(({ operation }) => [operation.operationId, operation.status]));

/** A client of the REST front at an origin that holds each answer to its code's status and to the OpenAPI document. */
export function checkedRestClient(origin: string): FrontClient {
  return {
    front: 'REST',
    async send(request) {
      const answer = await sendHttp(origin, request);
      const { operation } = request;
      expect(answer.status, 'status').to.equal(
        answer.code === 'OK' ? STATUS_OF_SUCCESS.get(operation) : STATUSES[answer.code as ErrorCode],
      );
      expectChallenge(origin, answer);
      expectConformity(operation, answer);
      return answer;
    },
  };
}

/** The challenge of RFC 6750 §3, with the URL of RFC 9728. A refusal for another App names no scope to request. */
function expectChallenge(origin: string, { status, code, headers }: Awaited<ReturnType<typeof sendHttp>>): void {
  const challenge = headers.get('www-authenticate');
  if (status !== 401 && status !== 403) {
    expect(challenge, 'WWW-Authenticate').to.equal(null);
    return;
  }
  const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/api/v1/developer"`;
  expect(challenge, 'WWW-Authenticate')
    .to.match(/^Bearer /)
    .and.include(metadata);
  const [, error = 'none'] = /error="([^"]*)"/.exec(challenge ?? '') ?? [];
  const expected = code === 'DEVELOPER_TOKEN_REQUIRED' ? 'none' : status === 401 ? 'invalid_token' : error;
  expect(error, 'WWW-Authenticate').to.equal(expected).and.be.oneOf(['none', 'invalid_token', 'insufficient_scope']);
  expect(/scope="[a-z:]+"/.test(challenge ?? ''), 'scope in WWW-Authenticate').to.equal(error === 'insufficient_scope');
}
