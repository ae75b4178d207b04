// Goal: a command with --grpc never reports a refusal when one of its tries may have taken effect: a grant reports the
// operation id that finds out, and an operation that must not be done twice is not sent again.
// Method: command lines run in this process, against a server with scripted answers; and against a front that grants,
// loses the answer, and no longer knows the caller.
import { type sendUnaryData, Server, status as Status, type StatusObject } from '@grpc/grpc-js';
import { expect } from 'chai';
import { errorStatus } from '../../../apps/grpc/error-status.js';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { serviceDefinition } from '../../../apps/grpc/definitions.js';
import { type ErrorCode, ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { CliRun, type Ran } from '../../harness/cli-run.js';
import { bound, CALLERS, GrpcService } from './grpc-service.js';

const ID = '00000000-0000-4000-8000-000000000000';
const GRANT = ['grants', 'create', ID, '5'];
const ADJUSTMENT = ['adjustments', 'create', ID, '-5', '--reason', 'less'];
const KEY = ['keys', 'create', ID, '--name', 'k'];

const refused = (code: ErrorCode, retryAfterMs?: number): Partial<StatusObject> =>
  errorStatus(new ServiceError(code, undefined, retryAfterMs === undefined ? {} : { retryAfterMs }), {
    requestId: 'r',
    bodyField: '',
  });
/** The status of a connection that is cut after the call was sent, or of a proxy whose server is gone. */
const LOST: Partial<StatusObject> = { code: Status.UNAVAILABLE, details: 'Connection dropped' };
const NOT_TAKEN = refused('RATE_LIMITED', 1);

/** Answers the calls of one command with these, and repeats the last. */
async function answering(
  answers: readonly Partial<StatusObject>[],
  args: readonly string[],
): Promise<Ran & { readonly asked: number }> {
  const server = new Server();
  let asked = 0;
  const answer = (_: unknown, send: sendUnaryData<object>) => {
    send(answers[Math.min(asked, answers.length - 1)] as StatusObject);
    asked += 1;
  };
  for (const service of [Access, Credits, Operations]) {
    server.addService(
      serviceDefinition(service),
      Object.fromEntries(service.methods.map(({ localName }) => [localName, answer])),
    );
  }
  const port = await bound(server);
  const ran = await new CliRun('.', [...args, '--json', '--grpc', `127.0.0.1:${port}`], {
    environment: { DARKROOM_SERVICE_TOKEN: 'operator' },
  }).ended;
  server.forceShutdown();
  return { ...ran, asked };
}

interface Told {
  readonly code: number;
  readonly doubt: 'none' | 'with its operation id' | 'in words';
  readonly asked: number;
}

/** The outcome that stderr and the JSON on stdout report. */
function toldBy({ code, stderr, stdout, asked }: Ran & { readonly asked: number }): Told {
  const { error } = JSON.parse(stdout) as {
    readonly error: { readonly message: string; readonly operation_id?: string };
  };
  const id = error.operation_id;
  if (id === undefined) {
    const isDoubted = stderr.endsWith(' Whether it was done is not known.\n');
    if (isDoubted) expect(stderr).to.equal(`darkroom: ${error.message}\n`);
    else expect(stderr).not.to.include('not known');
    return { code: code ?? -1, doubt: isDoubted ? 'in words' : 'none', asked };
  }
  expect(stderr).to.include(
    ` Whether it was made is not known; the same command with --operation-id ${id} finds out and does not make it twice.`,
  );
  expect(stderr.split('not known'), 'said once').to.have.length(2);
  return { code: code ?? -1, doubt: 'with its operation id', asked };
}

describe('a command with --grpc whose answer was lost', () => {
  const doubted = { code: 1, doubt: 'with its operation id' } as const;
  const reports = (what: string, answers: readonly Partial<StatusObject>[], args: readonly string[], told: Told) =>
    it(`reports ${what}`, async () => expect(toldBy(await answering(answers, args))).to.deep.equal(told));

  reports(
    'a grant that is refused to who calls, after its first answer was lost',
    [LOST, refused('DEVELOPER_TOKEN_REVOKED')],
    GRANT,
    { ...doubted, asked: 2 },
  );
  reports('a grant that is beyond the scopes by then', [LOST, refused('DEVELOPER_SCOPE_INSUFFICIENT')], GRANT, {
    ...doubted,
    asked: 2,
  });
  reports('a grant that is one too many by then', [LOST, NOT_TAKEN], GRANT, { ...doubted, asked: 6 });
  reports(
    'a grant that the store could not answer',
    [refused('SERVICE_UNAVAILABLE', 1), refused('DEVELOPER_TOKEN_INVALID')],
    GRANT,
    { ...doubted, asked: 2 },
  );
  reports(
    'a grant between tries that were not taken',
    [NOT_TAKEN, LOST, NOT_TAKEN, refused('DEVELOPER_TOKEN_EXPIRED')],
    GRANT,
    { ...doubted, asked: 4 },
  );
  reports('a grant whose credits cannot be by then', [LOST, refused('FIELD_INVALID')], GRANT, { ...doubted, asked: 2 });
  reports('an adjustment that credits are missing for by then', [LOST, refused('CREDITS_INSUFFICIENT')], ADJUSTMENT, {
    ...doubted,
    asked: 2,
  });
  reports(
    'a grant that somebody in between refuses',
    [LOST, { code: Status.PERMISSION_DENIED, details: 'no' }],
    GRANT,
    { ...doubted, asked: 2 },
  );
  reports('a grant that broke something', [refused('INTERNAL_ERROR')], GRANT, { ...doubted, asked: 1 });
  reports(
    'a grant that is too long an answer',
    [{ code: Status.RESOURCE_EXHAUSTED, details: 'Received message larger than max' }],
    GRANT,
    { ...doubted, asked: 1 },
  );
  reports("a grant whose id is another operation's, now and before", [LOST, refused('CONFLICT')], GRANT, {
    code: 1,
    doubt: 'none',
    asked: 2,
  });
  reports('a grant to an account that is not there, now or before', [LOST, refused('NOT_FOUND')], GRANT, {
    code: 2,
    doubt: 'none',
    asked: 2,
  });
  reports('a grant all of whose tries were refused', [NOT_TAKEN, refused('DEVELOPER_TOKEN_REVOKED')], GRANT, {
    code: 3,
    doubt: 'none',
    asked: 2,
  });
  reports('an adjustment that credits are missing for', [refused('CREDITS_INSUFFICIENT')], ADJUSTMENT, {
    code: 1,
    doubt: 'none',
    asked: 1,
  });
  reports('a grant to where nobody knows what that is', [{ code: Status.UNIMPLEMENTED, details: '' }], GRANT, {
    code: 1,
    doubt: 'none',
    asked: 1,
  });
  reports('an end of a key', [LOST, refused('DEVELOPER_TOKEN_REVOKED')], ['keys', 'revoke', ID], {
    code: 1,
    doubt: 'in words',
    asked: 2,
  });
  reports('what only reads', [LOST, refused('DEVELOPER_TOKEN_REVOKED')], ['accounts', 'list'], {
    code: 3,
    doubt: 'none',
    asked: 2,
  });
  for (const args of [KEY, ['apps', 'create', ID, 'a'], ['accounts', 'create', 'a'], ['recover']]) {
    const command = args.slice(0, 2).join(' ');
    reports(`${command}, not sent again`, [LOST], args, { code: 1, doubt: 'in words', asked: 1 });
    reports(`${command}, sent again until it may have arrived`, [NOT_TAKEN, LOST], args, {
      code: 1,
      doubt: 'in words',
      asked: 2,
    });
    reports(`${command}, never taken`, [NOT_TAKEN, refused('DEVELOPER_TOKEN_REVOKED')], args, {
      code: 3,
      doubt: 'none',
      asked: 2,
    });
  }

  it('grants once, though its caller was revoked before the answer', async () => {
    const { operator } = CALLERS;
    let isLost = false;
    const grpc = await GrpcService.open({
      around: (ports) => ({
        ...ports,
        accounts: intercepted('accounts', ports.accounts, async (call) => {
          const answer = await call.proceed();
          if (call.name !== 'accounts.apply' || !isLost) return answer;
          CALLERS['operator'] = { ...CALLERS['revoked'], name: 'operator' } as typeof operator;
          throw new StoreUnavailable('The answer was lost.');
        }),
      }),
    });
    isLost = true;
    const grants = async () =>
      (await grpc.harness.context.accounts.entries(grpc.owner.accountId, { limit: 100 })).items
        .slice(1)
        .map(({ operationId }) => operationId);
    const grant = ['grants', 'create', grpc.owner.accountId, '5'];
    const { code, stdout } = await grpc.operate([...grant, '--json']);
    const { error } = JSON.parse(stdout) as {
      readonly error: { readonly code: string; readonly operation_id: string };
    };
    expect([code, error.code, await grants()]).to.deep.equal([1, 'DEVELOPER_TOKEN_REVOKED', [error.operation_id]]);
    CALLERS['operator'] = operator;
    isLost = false;
    expect((await grpc.operate([...grant, '--operation-id', error.operation_id])).stdout).to.match(
      /^The operation \S+ was made already /,
    );
    expect(await grants()).to.have.length(1);
    await grpc.close();
  });
});
