import { IDS, POOR, RICH } from './clean-cases.js';
import { CAPPED, QUIET_AT } from './clean-history.js';
import { account, ask, asked, type Breach, dataOf, entry, record, the } from './draft-changes.js';

export const MONEY: readonly Breach[] = [
  {
    invariant: 1,
    what: 'an account has more than its entries add up to',
    make: (draft) => {
      account(draft, RICH).available += 1;
    },
  },
  {
    invariant: 1,
    what: 'an account has spent less than its entries add up to',
    make: (draft) => {
      account(draft, RICH).spent -= 1;
    },
  },
  {
    invariant: 1,
    what: 'more was issued than the operator granted',
    make: (draft) => {
      draft.facts.granted[RICH.accountId] = 99;
    },
  },
  {
    invariant: 1,
    what: 'an entry is missing',
    make: (draft) => {
      account(draft, RICH).entries.splice(2, 1);
    },
  },
  {
    invariant: 1,
    what: 'an entry says another balance',
    make: (draft) => {
      entry(draft, IDS.failed, 'hold').availableAfter += 1;
    },
  },
  {
    invariant: 1,
    what: 'a release goes to the wrong book',
    make: (draft) => {
      entry(draft, IDS.failed, 'release').to = 'spent';
    },
  },
  {
    invariant: 1,
    what: 'an entry names another key than its generation',
    make: (draft) => {
      the(entry(draft, IDS.succeeded, 'charge').attribution).credentialId = IDS.random;
    },
  },
  {
    invariant: 1,
    what: 'a generation and its entries name a key that never sent it',
    make: (draft) => {
      record(draft, IDS.succeeded).credentialId = IDS.random;
      for (const kind of ['hold', 'charge'] as const)
        the(entry(draft, IDS.succeeded, kind).attribution).credentialId = IDS.random;
    },
  },
  {
    invariant: 1,
    what: 'an entry of a generation names no key',
    make: (draft) => {
      delete entry(draft, IDS.succeeded, 'charge').attribution;
    },
  },
  {
    invariant: 24,
    what: 'a key spends more than its cap',
    make: (draft) => {
      the(draft.facts.parties.find(({ name }) => name === 'poor')).monthlyCap = 1;
    },
  },
  {
    invariant: 24,
    what: 'credits of a capped key count for no month',
    make: (draft) => {
      for (const { attribution } of account(draft, POOR).entries) delete attribution?.capPeriod;
    },
  },
  {
    invariant: 24,
    what: 'an account counts otherwise than its entries',
    make: (draft) => {
      the(account(draft, POOR).capUses?.get(CAPPED.keyId)).used += 1;
    },
  },
  {
    invariant: 1,
    what: 'a client is shown a balance that never was',
    make: (draft) => {
      for (const name of ['balance_credits', 'available_credits', 'remaining_credits'])
        dataOf(the(draft.exchanges.find(({ request }) => request.operation === 'credits') as ReturnType<typeof asked>))[
          name
        ] = 55;
    },
  },
  {
    invariant: 1,
    what: 'a client is shown a balance of long ago',
    make: (draft) => {
      ask(
        draft,
        'rich',
        QUIET_AT,
        { operation: 'credits' },
        { status: 200, code: 'OK', data: { balance_credits: 100, available_credits: 100, remaining_credits: 100 } },
      );
    },
  },
  {
    invariant: 1,
    what: 'a client is shown a balance before it is had',
    make: (draft) => {
      ask(
        draft,
        'rich',
        3_500,
        { operation: 'credits' },
        { status: 200, code: 'OK', data: { balance_credits: 96, available_credits: 96, remaining_credits: 96 } },
      );
    },
  },
  {
    invariant: 1,
    what: 'verify finds something',
    make: (draft) => {
      draft.atRest.verifyFindings.push('Something.');
    },
  },
  {
    invariant: 2,
    what: 'a fraction of a credit moves',
    make: (draft) => {
      entry(draft, IDS.failed, 'hold').credits = 2.5;
    },
  },
  {
    invariant: 2,
    what: 'more is held than there is',
    make: (draft) => {
      the(account(draft, POOR).entries[0]).credits = 1;
    },
  },
  {
    invariant: 3,
    what: 'a generation reserves another price',
    make: (draft) => {
      record(draft, IDS.succeeded).reservedCredits = 3;
    },
  },
  {
    invariant: 3,
    what: 'a generation is charged for more than it delivered',
    make: (draft) => {
      record(draft, IDS.succeeded).chargedCredits = 2;
    },
  },
  {
    invariant: 3,
    what: 'a failed generation is charged',
    make: (draft) => {
      record(draft, IDS.failed).chargedCredits = 1;
    },
  },
  {
    invariant: 3,
    what: 'a client sees another reserve later',
    make: (draft) => {
      Object.assign(dataOf(asked(draft, 'get', IDS.succeeded)), { estimated_credits: 3, reserved_credits: 3 });
    },
  },
  {
    invariant: 4,
    what: 'a generation has no hold',
    make: (draft) => {
      entry(draft, IDS.failed, 'hold').generationId = IDS.random;
    },
  },
  {
    invariant: 4,
    what: 'a hold was released twice',
    make: (draft) => {
      account(draft, RICH).entries.push({ ...entry(draft, IDS.failed, 'release') });
    },
  },
  {
    invariant: 4,
    what: 'less was released than was left',
    make: (draft) => {
      entry(draft, IDS.failed, 'release').credits = 2;
    },
  },
  {
    invariant: 5,
    what: 'a generation was charged twice',
    make: (draft) => {
      account(draft, RICH).entries.push({ ...entry(draft, IDS.succeeded, 'charge') });
    },
  },
  {
    invariant: 5,
    what: 'the ledger charged another amount',
    make: (draft) => {
      entry(draft, IDS.succeeded, 'charge').credits = 2;
    },
  },
  {
    invariant: 5,
    what: 'credits were charged for what never was',
    make: (draft) => {
      entry(draft, IDS.succeeded, 'charge').generationId = IDS.random;
    },
  },
  {
    invariant: 6,
    what: 'credits are held at rest',
    make: (draft) => {
      account(draft, RICH).holds.set(IDS.random, { generationId: IDS.random, credits: 0, heldAt: 1 });
    },
  },
  {
    invariant: 6,
    what: 'a hold of what never was is not given back',
    make: (draft) => {
      account(draft, RICH).entries.push({ ...entry(draft, IDS.failed, 'hold'), generationId: IDS.random });
    },
  },
  {
    invariant: 6,
    what: 'a generation is not settled',
    make: (draft) => {
      delete record(draft, IDS.failed).settledAt;
    },
  },
];

export const VIEWS: readonly Breach[] = [
  {
    invariant: 7,
    what: 'an end changes',
    make: (draft) => {
      Object.assign(dataOf(asked(draft, 'get', IDS.failed)), { status: 'cancelled', error: undefined });
    },
  },
  {
    invariant: 7,
    what: 'an ended generation is leased',
    make: (draft) => {
      record(draft, IDS.failed).lease = { worker: 'w', fence: 1, renewedAt: 1, expiresAt: 2 };
    },
  },
  {
    invariant: 8,
    what: 'a status goes back',
    make: (draft) => {
      asked(draft, 'create', 'key-succeeded').sentAt = 1_900;
      asked(draft, 'create', 'key-succeeded').answered.at = 1_950;
    },
  },
  {
    invariant: 8,
    what: 'updated_at goes back',
    make: (draft) => {
      dataOf(asked(draft, 'get', IDS.succeeded, 1))['updated_at'] = new Date(1_000).toISOString();
      dataOf(asked(draft, 'create', 'key-succeeded'))['updated_at'] = new Date(1_001).toISOString();
    },
  },
  {
    invariant: 9,
    what: 'an ended task is to be polled',
    make: (draft) => {
      dataOf(asked(draft, 'get', IDS.succeeded))['poll_after_ms'] = 2_000;
    },
  },
  {
    invariant: 9,
    what: 'a success has no outputs',
    make: (draft) => {
      dataOf(asked(draft, 'get', IDS.succeeded))['outputs'] = [];
    },
  },
  {
    invariant: 9,
    what: 'an output has another size than was asked for',
    make: (draft) => {
      the(record(draft, IDS.succeeded).outputs[0]).widthPx = 64;
    },
  },
  {
    invariant: 9,
    what: 'a failure has no error on record',
    make: (draft) => {
      delete record(draft, IDS.failed).error;
    },
  },
  {
    invariant: 10,
    what: 'a generation cancelled while queued is charged',
    make: (draft) => {
      record(draft, IDS.cancelled).chargedCredits = 1;
    },
  },
  {
    invariant: 10,
    what: 'a generation cancelled while queued was begun',
    make: (draft) => {
      record(draft, IDS.cancelled).attemptsMade = 1;
    },
  },
  {
    invariant: 10,
    what: 'an attempt began after the cancel',
    make: (draft) => {
      the(record(draft, IDS.stopped).attempt).startedAt = 9_500;
    },
  },
  {
    invariant: 10,
    what: 'an acknowledged cancel is forgotten',
    make: (draft) => {
      delete record(draft, IDS.stopped).cancelRequestedAt;
    },
  },
  {
    invariant: 10,
    what: 'nobody had asked for a cancel',
    make: (draft) => {
      draft.exchanges = draft.exchanges.filter(
        ({ request }) => request.operation !== 'cancel' || request.generationId !== IDS.stopped,
      );
    },
  },
  {
    invariant: 7,
    what: 'two answers that overlap show two ends',
    make: (draft) => {
      const get = asked(draft, 'get', IDS.failed);
      draft.exchanges.push(structuredClone(get));
      Object.assign(dataOf(get), { status: 'cancelled', error: undefined });
    },
  },
  {
    invariant: 15,
    what: 'the record has another error than was shown',
    make: (draft) => {
      the(record(draft, IDS.failed).error).code = 'INTERNAL_ERROR';
    },
  },
  {
    invariant: 15,
    what: 'clients are shown one output of two',
    make: (draft) => {
      for (const { request, answered } of draft.exchanges)
        if (
          request.operation === 'get' &&
          request.generationId === IDS.poor &&
          Array.isArray(answered?.answer.data?.['outputs'])
        )
          answered.answer.data['outputs'].splice(1);
    },
  },
  {
    invariant: 15,
    what: 'the record ended at another time than was shown',
    make: (draft) => {
      record(draft, IDS.failed).completedAt = 5_999;
    },
  },
  {
    invariant: 3,
    what: 'the record has another time of creation than was shown',
    make: (draft) => {
      record(draft, IDS.failed).createdAt = 4_999;
    },
  },
  {
    invariant: 15,
    what: 'the record ended otherwise than clients were shown',
    make: (draft) => {
      record(draft, IDS.failed).status = 'cancelled';
    },
  },
];
