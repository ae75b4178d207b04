import { expect } from 'chai';
import { ROUTES } from '../../../../apps/http/developer/routes.js';
import { STATUSES } from '../../../../apps/http/host/statuses.js';
import type { ErrorCode } from '../../../../core/errors.js';
import type { FrontClient } from '../../vectors/play.js';
import { expectConformity } from './conformity.js';
import { sendHttp } from '../host/rest-client.js';

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
      expect(answer.headers.get('www-authenticate'), 'WWW-Authenticate').to.equal(
        answer.status === 401 ? 'Bearer' : null,
      );
      expectConformity(operation, answer);
      return answer;
    },
  };
}
