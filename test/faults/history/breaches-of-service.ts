import { IDS, POOR, RICH } from './clean-cases.js';
import { QUIET_AT } from './clean-history.js';
import { ask, asked, type Breach, dataOf, fail, record, SECRET, the, upload, wantUntil } from './draft-changes.js';

export const KEYS: readonly Breach[] = [
  {
    invariant: 11,
    what: 'two processes made two generations of one key',
    make: (draft) => {
      ask(draft, 'rich', 950_000, asked(draft, 'create', 'key-failed').request, {
        status: 202,
        code: 'OK',
        data: { ...dataOf(asked(draft, 'create', 'key-failed')), generation_id: IDS.random },
      });
    },
  },
  {
    invariant: 11,
    what: 'a second generation stands under a key, untold',
    make: (draft) => {
      draft.atRest.generations.push({ ...record(draft, IDS.failed), generationId: IDS.random });
    },
  },
  {
    invariant: 11,
    what: 'a generation stands under a key that nobody sent',
    make: (draft) => {
      record(draft, IDS.failed).clientTraceId = 'another';
    },
  },
  {
    invariant: 11,
    what: 'another payload succeeds',
    make: (draft) => {
      Object.assign(the(asked(draft, 'create', 'key-succeeded', 0).answered.answer), {
        status: 202,
        code: 'OK',
        data: dataOf(asked(draft, 'create', 'key-succeeded')),
      });
    },
  },
  {
    invariant: 11,
    what: 'the same payload is said to be another',
    make: (draft) => {
      asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 409, code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' };
    },
  },
  {
    invariant: 11,
    what: 'a completion has two effects',
    make: (draft) => {
      ask(draft, 'rich', 800, asked(draft, 'complete', 'complete-1').request, {
        status: 200,
        code: 'OK',
        data: { ...dataOf(asked(draft, 'complete', 'complete-1')), media_id: IDS.random },
      });
    },
  },
  {
    invariant: 12,
    what: 'what was accepted is not there',
    make: (draft) => {
      draft.atRest.generations = draft.atRest.generations.filter(({ generationId }) => generationId !== IDS.failed);
    },
  },
  {
    invariant: 12,
    what: 'a void stands where a generation was accepted',
    make: (draft) => {
      draft.atRest.generations = draft.atRest.generations.map((each) =>
        each.generationId === IDS.failed
          ? { kind: 'void', generationId: IDS.failed, ...RICH, version: 1, createdAt: 1, dueAt: 1 }
          : each,
      );
    },
  },
  {
    invariant: 12,
    what: 'an owner is denied what it was shown',
    make: (draft) => {
      asked(draft, 'get', IDS.failed).answered.answer = {
        status: 404,
        code: 'TASK_NOT_FOUND',
        message: 'TASK_NOT_FOUND',
      };
    },
  },
  {
    invariant: 12,
    what: 'an account is gone',
    make: (draft) => {
      draft.atRest.accounts.pop();
    },
  },
  {
    invariant: 13,
    what: 'a refused create left a generation',
    make: (draft) => {
      draft.atRest.generations.push({
        ...record(draft, IDS.failed),
        ...POOR,
        generationId: IDS.random,
        clientTraceId: 'poor-2',
      });
    },
  },
  {
    invariant: 13,
    what: 'a refusal for want of credits was not true',
    make: (draft) => {
      asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 402, code: 'CREDITS_INSUFFICIENT' };
    },
  },
  {
    invariant: 13,
    what: 'a refusal for want of credits came after the want',
    make: (draft) => {
      wantUntil(draft, 15_000);
      ask(draft, 'rich', 19_000, asked(draft, 'create', 'key-failed').request, {
        status: 402,
        code: 'CREDITS_INSUFFICIENT',
      });
    },
  },
  {
    invariant: 13,
    what: 'fewer of a burst are accepted than can be paid',
    make: (draft) => {
      the(draft.facts.bursts[0]).balance = 5;
    },
  },
  {
    invariant: 13,
    what: 'more of a burst are accepted than can be paid',
    make: (draft) => {
      Object.assign(the(draft.facts.bursts[0]), { balance: 1, isExact: false });
    },
  },
  {
    invariant: 20,
    what: 'a client never learns what became of its request',
    make: (draft) => {
      asked(draft, 'create', 'poor-2').answered.answer = { status: 503, code: 'SERVICE_UNAVAILABLE' };
    },
  },
];

export const BYTES: readonly Breach[] = [
  {
    invariant: 14,
    what: 'outputs were written under a later fence than was given',
    make: (draft) => {
      record(draft, IDS.succeeded).fence = 0;
    },
  },
  {
    invariant: 16,
    what: 'a ready upload has other bytes',
    make: (draft) => {
      the(upload(draft).stored).sha256 = 'd'.repeat(64);
    },
  },
  {
    invariant: 16,
    what: 'a ready upload has no bytes',
    make: (draft) => {
      delete upload(draft).stored;
    },
  },
  {
    invariant: 16,
    what: 'an upload is ready as what nobody sent',
    make: (draft) => {
      draft.exchanges = draft.exchanges.filter(
        ({ request, answered }) => request.operation !== 'put' || answered?.answer.status !== 200,
      );
    },
  },
  {
    invariant: 16,
    what: 'a completion names another medium than is on record',
    make: (draft) => {
      dataOf(asked(draft, 'complete', 'complete-1'))['media_id'] = IDS.random;
    },
  },
  {
    invariant: 16,
    what: 'an upload said to be ready is not on record',
    make: (draft) => {
      draft.atRest.uploads = [];
    },
  },
  {
    invariant: 16,
    what: 'a delivered output is not in the store',
    make: (draft) => {
      draft.atRest.objects = draft.atRest.objects.filter(({ key }) => !key.includes(IDS.succeeded));
    },
  },
  {
    invariant: 16,
    what: 'a signed address gives other bytes',
    make: (draft) => {
      the(asked(draft, 'fetch', IDS.succeeded).answered.answer.bytes).sha256 = 'd'.repeat(64);
    },
  },
  {
    invariant: 16,
    what: 'a signed address gives another type',
    make: (draft) => {
      the(asked(draft, 'fetch', IDS.succeeded).answered.answer.bytes).contentType = 'text/html';
    },
  },
  {
    invariant: 16,
    what: 'a fresh signed address is refused',
    make: (draft) => {
      asked(draft, 'fetch', IDS.succeeded).answered.answer = { status: 403 };
    },
  },
];

export const ENDS: readonly Breach[] = [
  {
    invariant: 12,
    what: 'what must succeed failed in calm',
    make: (draft) => {
      fail(draft, IDS.poor, 'TASK_TIMEOUT');
    },
  },
  {
    invariant: 12,
    what: 'nobody ran it, though there was calm enough',
    make: (draft) => {
      fail(draft, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 90_000 });
      draft.facts.bursts = [];
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
    },
  },
  {
    invariant: 12,
    what: 'a burst at rest failed, whatever the trouble',
    make: (draft) => {
      fail(draft, IDS.poor, 'TASK_TIMEOUT');
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
    },
  },
  {
    invariant: 12,
    what: 'what must succeed failed with what no trouble makes',
    make: (draft) => {
      fail(draft, IDS.poor, 'INTERNAL_ERROR');
      draft.facts.bursts = [];
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
    },
  },
  {
    invariant: 12,
    what: 'fewer outputs were delivered than were asked for',
    make: (draft) => {
      record(draft, IDS.poor).outputs.pop();
    },
  },
  {
    invariant: 12,
    what: 'it succeeded where it was asked to fail',
    make: (draft) => {
      const g = record(draft, IDS.failed);
      g.status = 'succeeded';
    },
  },
  {
    invariant: 12,
    what: 'it failed with another error than was asked for',
    make: (draft) => {
      the(record(draft, IDS.failed).error).code = 'TASK_TIMEOUT';
    },
  },
];

export const ACCESS: readonly Breach[] = [
  {
    invariant: 17,
    what: 'a foreign id is answered otherwise than a random one',
    make: (draft) => {
      asked(draft, 'get', IDS.random).answered.answer = { status: 404, code: 'TASK_NOT_FOUND', message: 'Never was.' };
    },
  },
  {
    invariant: 17,
    what: 'a stranger is shown a generation',
    make: (draft) => {
      const get = asked(draft, 'get', IDS.succeeded, 0);
      get.answered.answer = asked(draft, 'get', IDS.succeeded).answered.answer;
    },
  },
  {
    invariant: 17,
    what: 'a foreign upload is used',
    make: (draft) => {
      Object.assign(asked(draft, 'create', 'poor-1').request, {
        body: { client_trace_id: 'poor-1', reference_upload_ids: [IDS.upload] },
      });
    },
  },
  {
    invariant: 17,
    what: 'an answer is about another generation',
    make: (draft) => {
      dataOf(asked(draft, 'get', IDS.failed))['generation_id'] = IDS.stopped;
    },
  },
  {
    invariant: 18,
    what: 'a revoked key is answered after 5 seconds',
    make: (draft) => {
      the(draft.exchanges.find(({ by, sentAt }) => by === 'leaver' && sentAt === 18_000)?.answered).answer = {
        status: 200,
        code: 'OK',
        data: { balance_credits: 99, available_credits: 99, remaining_credits: 99 },
      };
    },
  },
  {
    invariant: 18,
    what: 'a good key is refused',
    make: (draft) => {
      asked(draft, 'get', IDS.failed).answered.answer = { status: 401, code: 'DEVELOPER_TOKEN_INVALID' };
    },
  },
  {
    invariant: 18,
    what: 'a key is refused before it was revoked',
    make: (draft) => {
      the(draft.facts.revocations[0]).askedAt = 50_000;
    },
  },
  {
    invariant: 18,
    what: 'a log has a secret in it',
    make: (draft) => {
      draft.atRest.texts.push({ where: 'the log of worker-1', text: `Authorization: Bearer ${SECRET}` });
    },
  },
  {
    invariant: 18,
    what: 'an answer has a secret in it',
    make: (draft) => {
      asked(draft, 'create', 'poor-2').answered.answer.message = `Not for ${SECRET}.`;
    },
  },
  {
    invariant: 19,
    what: 'a fault is told as an internal error',
    make: (draft) => {
      asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 500, code: 'INTERNAL_ERROR' };
    },
  },
  {
    invariant: 19,
    what: 'a code has another status',
    make: (draft) => {
      asked(draft, 'create', 'key-failed', 0).answered.answer.status = 500;
    },
  },
  {
    invariant: 19,
    what: 'a request did not arrive in time, in calm',
    make: (draft) => {
      asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 408, code: 'REQUEST_TIMEOUT' };
    },
  },
  {
    invariant: 20,
    what: 'a generation has not ended',
    make: (draft) => {
      const g = record(draft, IDS.failed);
      g.status = 'running';
      delete g.completedAt;
    },
  },
  {
    invariant: 20,
    what: 'a generation ended long after its deadline',
    make: (draft) => {
      record(draft, IDS.failed).completedAt = QUIET_AT + 20_000;
    },
  },
];
