import fc from 'fast-check';
import type { AccountChange, Entry, Hold } from '../../../core/credits/account.js';
import { type GenerationStatus, isTerminal } from '../../../core/generation/generation.js';
import type { PageRequest } from '../../../core/paging.js';
import type { DatabasePort, Ports } from '../../../core/ports/ports.js';
import type { ListedGenerations } from '../../../core/ports/stores.js';
import type { TraceRow, UseRow } from '../../../core/usage/usage.js';
import { DELIVERY_LISTS, type DeliveryList } from '../../../core/webhooks/delivery.js';
import { delivery } from '../../contracts/delivery-store.contract.js';
import {
  aChange,
  aClaim,
  aFingerprint,
  aGeneration,
  anAccount,
  anApiKey,
  anApp,
  anArtefact,
  anUpload,
  aPerson,
  aProcessLease,
  aTombstone,
  uuidAt,
} from '../../fixtures/stored-records.js';

export type Stores = Pick<Ports, DatabasePort>;

/** One call on a port. Its arguments depend only on the random draw and on the records of the first store. */
export class PortCall {
  constructor(
    private readonly title: string,
    private readonly args: unknown,
    /** Calls the port of `stores`; arguments that depend on stored records are read from `first`. */
    readonly run: (stores: Stores, first: Stores) => Promise<unknown>,
  ) {}

  toString(): string {
    return `${this.title} ${JSON.stringify(this.args)}`;
  }
}

function call<A>(
  title: string,
  args: fc.Arbitrary<A>,
  run: (stores: Stores, args: A, first: Stores) => Promise<unknown>,
): fc.Arbitrary<PortCall> {
  return args.map((drawn) => new PortCall(title, drawn, (stores, first) => run(stores, drawn, first)));
}

/** There are few record ids, so that calls often concern the same record. */
const number = fc.integer({ min: 1, max: 4 });
/** The difference between the expected version of a write and the stored version. */
const off = fc.constantFrom(0, 0, 0, 1, -1);
const time = fc.integer({ min: 0, max: 12 });
const limit = fc.constantFrom(1, 2, 3, 1_000);

/** Texts that core accepts and a column stores: of any length and language, and not in the sort order of a language. */
const TEXTS = [
  '',
  'a',
  'A',
  'ä',
  'a\u0308',
  'Z',
  '_',
  'a b',
  ' a',
  '\'%_\\"',
  '\ufffd',
  '\uffee',
  '😀',
  '水彩',
  '\u202e\u200b',
  '\u0001\u007f',
  'x'.repeat(255),
  '水'.repeat(128),
  '😀'.repeat(64),
];
/** Texts that core refuses, for lookups that core does not check and for records that are stored as JSON. */
const REFUSED_TEXTS = ['nobody\0', 'no\0body', '\ud800', 'a\udfff'];
const few = { weight: 3, arbitrary: fc.constantFrom('a', '😀') };
const text = fc.oneof(few, fc.constantFrom(...TEXTS));
const filledText = fc.oneof(few, fc.constantFrom(...TEXTS.filter((one) => one !== '')));
const anyText = fc.oneof(few, fc.constantFrom(...TEXTS, ...REFUSED_TEXTS));

/** Texts that are not ids in our form, although some databases accept them as UUIDs. */
const NO_IDS = [
  '',
  'x',
  uuidAt(1).replaceAll('-', ''),
  `{${uuidAt(1)}}`,
  uuidAt(10).toUpperCase(),
  `${uuidAt(1)} `,
  `${uuidAt(1)}\0`,
  '-'.repeat(36),
  '😀',
];
const known = number.map(uuidAt);
/** Ids that a client may send in a request. */
const id = fc.oneof({ weight: 6, arbitrary: known }, fc.constantFrom(...NO_IDS));

/** A page request without a cursor, or with one that may belong to another list or to no list. */
const pageOf = (cursor: fc.Arbitrary<string>): fc.Arbitrary<PageRequest> =>
  fc.record({ limit, cursor }, { requiredKeys: ['limit'] });
const idPage = pageOf(known);
const createdCursor = fc.oneof(
  fc.tuple(time, id).map(([at, of]) => `${at}.${of}`),
  fc.constantFrom('', 'x', '5', `-1.${uuidAt(1)}`, `9007199254740993.${uuidAt(1)}`),
);
const sequenceCursor = fc.constantFrom('0', '1', '2', '5', 'x', '', '1e3', '9007199254740993', '\0');

/** The credentials that can have a cap. */
const capped = fc.constantFrom(uuidAt(901), uuidAt(902), 'grant-3_X');

/** The version that a write expects: the one that `read` finds in the first store plus `offset`, at least 0. */
async function expected(read: Promise<{ readonly version: number } | null>, offset: number): Promise<number> {
  return Math.max(0, ((await read)?.version ?? 0) + offset);
}

const accounts = [
  call('accounts.create', fc.record({ n: number, name: text }), ({ accounts: port }, { n, name }) =>
    port.create(anAccount(n, { name, createdAt: n })),
  ),
  call('accounts.read', id, ({ accounts: port }, of) => port.read(of)),
  call('accounts.read totals', id, ({ accounts: port }, of) => port.read(of, undefined, 'totals')),
  call(
    'accounts.apply',
    fc.record({
      n: number,
      versionOff: fc.constantFrom(0, 0, 0, 1, -1),
      amount: fc.maxSafeInteger(),
      opens: fc.uniqueArray(number, { maxLength: 3 }),
      closes: fc.uniqueArray(number, { maxLength: 3 }),
      uses: fc.uniqueArray(capped, { maxLength: 2 }),
      drops: fc.uniqueArray(capped, { maxLength: 2 }),
      entries: fc.integer({ min: 0, max: 2 }),
      trace: fc.option(filledText, { nil: undefined }),
      words: text,
      isRenamed: fc.boolean(),
    }),
    async ({ accounts: port }, drawn, first) => port.apply(await changeOf(drawn, first)),
  ),
  call('accounts.entries', fc.record({ of: known, page: pageOf(sequenceCursor) }), ({ accounts: port }, { of, page }) =>
    port.entries(of, page),
  ),
  call(
    'accounts.findOperation',
    fc.record({ of: known, operation: anyText }),
    ({ accounts: port }, { of, operation }) => port.findOperation(of, operation),
  ),
  call('accounts.list', idPage, ({ accounts: port }, page) => port.list(page)),
  call('accounts.holdsBefore', fc.record({ at: time, limit }), ({ accounts: port }, { at, limit: most }) =>
    port.holdsBefore(at, { limit: most }),
  ),
  call(
    'accounts.removeTexts',
    fc.record({ n: number, kept: fc.constantFrom('trace', 'operation', 'reason', 'none') }),
    async ({ accounts: port }, { n, kept }, first) => {
      const { items } = await first.accounts.entries(uuidAt(n), { limit: 100 });
      await port.removeTexts(
        uuidAt(n),
        items.map(({ operationId, reason, attribution, ...rest }): Entry => {
          const { clientTraceId, ...others } = attribution ?? {};
          return {
            ...rest,
            ...(operationId !== undefined && kept === 'operation' ? { operationId } : {}),
            ...(reason !== undefined && kept === 'reason' ? { reason } : {}),
            attribution: {
              credentialId: 'c',
              modelKey: 'm',
              ...others,
              ...(clientTraceId !== undefined && kept === 'trace' ? { clientTraceId } : {}),
            },
          };
        }),
      );
    },
  ),
];

const acceptances = [
  ...accounts,
  call(
    'acceptances.accept',
    fc.record({
      n: number,
      versionOff: fc.constantFrom(0, 0, 1),
      numbers: fc.uniqueArray(number, { minLength: 1, maxLength: 3 }),
      keys: fc.uniqueArray(anyText, { maxLength: 3 }),
    }),
    async (stores, { n, versionOff, numbers, keys }, first) => {
      const account = (await first.accounts.read(uuidAt(n))) ?? anAccount(n);
      const batch = {
        claims: keys.map((key, index) => aClaim(index, { key })),
        change: aChange(account, { expectedVersion: account.version + versionOff, issued: n }),
        generations: numbers.map((one) => aGeneration(one, { accountId: uuidAt(n) })),
      };
      const claimed = await Promise.all(batch.claims.map((one) => stores.claims.read(one)));
      const outcome = await stores.acceptances.accept(batch);
      if (outcome.outcome === 'accepted') return { ...outcome, existing: inAnyOrder(outcome.existing) };
      // A store may or may not keep the claims of a batch that it did not accept.
      const added = batch.claims.filter((_, index) => claimed[index] === null);
      await Promise.all(added.map((one) => stores.claims.remove(one, 0)));
      return outcome.outcome === 'taken' ? inAnyOrder(outcome.taken) : outcome.outcome;
    },
  ),
];

interface DrawnChange {
  readonly n: number;
  readonly versionOff: number;
  readonly amount: number;
  readonly opens: readonly number[];
  readonly closes: readonly number[];
  readonly uses: readonly string[];
  readonly drops: readonly string[];
  readonly entries: number;
  readonly trace: string | undefined;
  readonly words: string;
  readonly isRenamed: boolean;
}

/** A change as core makes it: it does not open a hold twice, and it numbers entries without gaps. */
async function changeOf(drawn: DrawnChange, { accounts: port }: Stores): Promise<AccountChange> {
  const account = (await port.read(uuidAt(drawn.n))) ?? anAccount(drawn.n);
  const { amount, trace, words } = drawn;
  const holdsClosed = drawn.closes.map(uuidAt).filter((hold) => account.holds.has(hold));
  const attribution = {
    credentialId: 'service:größe',
    modelKey: 'model',
    ...(trace === undefined ? {} : { clientTraceId: trace }),
  };
  const holdsOpened = drawn.opens
    .filter((n) => !account.holds.has(uuidAt(n)) || holdsClosed.includes(uuidAt(n)))
    .map((n): Hold => ({ generationId: uuidAt(n), credits: Math.abs(amount), heldAt: n, attribution }));
  const entries = Array.from({ length: drawn.entries }, (_, index): Entry => {
    const sequence = account.lastSequence + 1 + index;
    return {
      accountId: account.accountId,
      sequence,
      kind: 'adjustment',
      from: 'available',
      to: 'issued',
      credits: amount,
      at: sequence,
      availableAfter: 0 - amount,
      operationId: `${words}${sequence}`,
      reason: words,
      attribution,
    };
  });
  const expectedVersion = account.version + drawn.versionOff;
  return aChange(account, {
    expectedVersion,
    version: expectedVersion + 1,
    issued: amount,
    available: 0 - amount,
    lastSequence: account.lastSequence + entries.length,
    holdsOpened,
    holdsClosed,
    entries,
    capUses: drawn.uses.map((credentialId) => ({ credentialId, period: 'life', used: Math.abs(amount) })),
    capUsesDropped: drawn.drops.filter((credentialId) => !drawn.uses.includes(credentialId)),
    ...(drawn.isRenamed ? { profile: { name: words, suspendedAt: 5 } } : {}),
  });
}

const STATUSES: readonly GenerationStatus[] = ['queued', 'running', 'succeeded', 'failed'];
const generation = fc
  .record({
    n: number,
    dueAt: time,
    status: fc.constantFrom(...STATUSES),
    prompt: anyText,
    parameter: anyText,
    unchargedBytes: fc.constantFrom(undefined, 5, 2 ** 40),
    isTombstone: fc.integer({ min: 0, max: 5 }).map((drawn) => drawn === 0),
    hasTrace: fc.boolean(),
  })
  .map(({ n, isTombstone, hasTrace, parameter, unchargedBytes, ...values }) => {
    // These fields never change during the life of a generation; two generations have the same creation time.
    const of = { accountId: uuidAt((n % 2) + 1), appId: uuidAt((n % 2) + 1), createdAt: n === 4 ? 1 : n };
    const [modelKey, clientTraceId] = n < 3 ? ['a', '😀'] : ['😀', 'a'];
    if (isTombstone) return aTombstone(n, { ...of, dueAt: values.dueAt });
    const { clientTraceId: _trace, ...made } = aGeneration(n, { ...of, ...values, modelKey });
    return {
      ...made,
      parameters: { [parameter]: parameter },
      ...(hasTrace ? { clientTraceId } : {}),
      ...(unchargedBytes === undefined ? {} : { unchargedBytes }),
    };
  });

const listed: fc.Arbitrary<ListedGenerations> = fc.oneof(
  fc.constant({ of: 'all' } as const),
  known.map((accountId) => ({ of: 'account', accountId }) as const),
  fc.record(
    {
      of: fc.constant('app' as const),
      appId: known,
      only: fc.oneof(
        fc.record({ field: fc.constant('status' as const), value: fc.constantFrom<string>(...STATUSES, '\0') }),
        fc.record({ field: fc.constantFrom('modelKey' as const, 'clientTraceId' as const), value: anyText }),
      ),
      createdFrom: time,
      createdBefore: time,
    },
    { requiredKeys: ['of', 'appId'] },
  ),
);

const generations = [
  call('generations.insert', generation, ({ generations: port }, record) => port.insert(record)),
  call('generations.read', id, ({ generations: port }, of) => port.read(of)),
  call('generations.replace', fc.tuple(generation, off), async ({ generations: port }, [next, offset], first) => {
    const stored = await first.generations.read(next.generationId);
    // A tombstone stays a tombstone, and a generation does not change after it has ended.
    if (stored?.kind === 'void' && next.kind === 'generation') return null;
    if (stored?.kind === 'generation' && isTerminal(stored.status)) return null;
    const from = Math.max(0, (stored?.version ?? 0) + offset);
    return port.replace({ ...next, version: from + 1 }, from);
  }),
  call('generations.remove', fc.tuple(known, off), async ({ generations: port }, [of, offset], first) =>
    port.remove(of, await expected(first.generations.read(of), offset)),
  ),
  call(
    'generations.due',
    fc.record({
      now: time,
      limit,
      after: fc.option(fc.record({ dueAt: time, generationId: known }), { nil: undefined }),
    }),
    ({ generations: port }, { now, limit: most, after }) => port.due(now, most, after),
  ),
  call(
    'generations.list',
    listed.chain((wanted) => fc.tuple(fc.constant(wanted), wanted.of === 'app' ? pageOf(createdCursor) : idPage)),
    ({ generations: port }, [wanted, page]) => port.list(wanted, page),
  ),
  call(
    'generations.stored',
    fc.tuple(known, fc.constantFrom('uncharged' as const, 'thumbnails' as const)),
    (stores, of) => stores.generations.stored(...of),
  ),
  call('generations.countOpen', fc.constant(null), async ({ generations: port }) => inAnyOrder(await port.countOpen())),
];

const claim = fc
  .record({ n: number, key: fc.constantFrom('a', 'a\0', '😀'), removeAt: time })
  .map(({ n, ...values }) => aClaim(n, values));
const claims = [
  call('claims.insert', claim, ({ claims: port }, one) => port.insert(one)),
  call('claims.read', fc.tuple(claim, anyText), ({ claims: port }, [one, key]) => port.read({ ...one, key })),
  call('claims.replace', fc.tuple(claim, off), async ({ claims: port }, [next, offset], first) => {
    const from = await expected(first.claims.read(next), offset);
    return port.replace({ ...next, version: from + 1 }, from);
  }),
  call('claims.remove', fc.tuple(claim, off), async ({ claims: port }, [key, offset], first) =>
    port.remove(key, await expected(first.claims.read(key), offset)),
  ),
  call('claims.removeExpired', time, ({ claims: port }, now) => port.removeExpired(now, 1_000)),
  call(
    'fingerprints.replace',
    fc.record({ n: number, removeAt: time, offset: off, key: anyText }),
    async ({ fingerprints: port }, { n, offset, key, removeAt }, first) => {
      const made = aFingerprint(n, { removeAt, creates: [{ key, createdAt: 1, waits: [] }] });
      const from = await expected(first.fingerprints.read(made.fingerprint), offset);
      return port.replace({ ...made, version: from + 1 }, from);
    },
  ),
  call('fingerprints.read', number, ({ fingerprints: port }, n) => port.read(aFingerprint(n).fingerprint)),
  call('fingerprints.removeExpired', time, ({ fingerprints: port }, now) => port.removeExpired(now, 1_000)),
  call('fingerprints.removeOfAccount', fc.tuple(known, limit), ({ fingerprints: port }, [of]) =>
    port.removeOfAccount(of, 1_000),
  ),
  call('fingerprints.renewLease', fc.tuple(number, time), ({ fingerprints: port }, [n, at]) =>
    port.renewLease(aProcessLease(n, { renewals: at, removeAt: at })),
  ),
  call('fingerprints.readLease', id, ({ fingerprints: port }, of) => port.readLease(of)),
];

const upload = fc
  .record({ n: number, dueAt: time, filename: anyText, byteSize: fc.constantFrom(1, 2 ** 40), isReady: fc.boolean() })
  .map(({ n, isReady, ...values }) => {
    const made = anUpload(n, { ...values, accountId: uuidAt((n % 2) + 1), appId: uuidAt((n % 2) + 1) });
    const { objectKey: _key, ready: _ready, lastUsedAt: _used, ...unfinished } = made;
    return isReady ? made : { ...unfinished, status: 'prepared' as const };
  });
const uploads = [
  call('uploads.insert', upload, ({ uploads: port }, record) => port.insert(record)),
  call('uploads.read', id, ({ uploads: port }, of) => port.read(of)),
  call('uploads.replace', fc.tuple(upload, off), async ({ uploads: port }, [next, offset], first) => {
    const from = await expected(first.uploads.read(next.uploadId), offset);
    return port.replace({ ...next, version: from + 1 }, from);
  }),
  call('uploads.remove', fc.tuple(known, off), async ({ uploads: port }, [of, offset], first) =>
    port.remove(of, await expected(first.uploads.read(of), offset)),
  ),
  call('uploads.due', fc.tuple(time, limit), async ({ uploads: port }, [now, most]) =>
    // Records with the same time have no defined order.
    (await port.due(now, most)).map(({ dueAt }) => dueAt),
  ),
  call('uploads.usage', fc.tuple(known, known), ({ uploads: port }, [account, app]) => port.usage(account, app)),
  call('uploads.list', fc.tuple(known, idPage), ({ uploads: port }, [of, page]) => port.list(of, page)),
];

const credentials = [
  call('credentials.insertApp', fc.tuple(number, text), ({ credentials: port }, [n, name]) =>
    port.insertApp(anApp(n, { accountId: uuidAt((n % 2) + 1), name })),
  ),
  call('credentials.readApp', id, ({ credentials: port }, of) => port.readApp(of)),
  call('credentials.listApps', fc.tuple(known, idPage), ({ credentials: port }, [of, page]) => port.listApps(of, page)),
  call('credentials.renameApp', fc.tuple(number, text), ({ credentials: port }, [n, name]) =>
    port.renameApp(uuidAt(n), name),
  ),
  call('credentials.insertKey', fc.record({ n: number, digest: number, name: text }), (stores, { n, digest, name }) =>
    stores.credentials.insertKey(anApiKey(n, { name, digest: anApiKey(digest).digest })),
  ),
  call(
    'credentials.findKey by digest',
    fc.oneof(
      number.map((n) => anApiKey(n).digest),
      anyText,
    ),
    (stores, digest) => stores.credentials.findKey({ digest }),
  ),
  call('credentials.findKey by id', id, ({ credentials: port }, keyId) => port.findKey({ keyId })),
  call(
    'credentials.replaceKey',
    fc.tuple(number, off, text),
    async ({ credentials: port }, [n, offset, name], first) => {
      const from = await expected(first.credentials.findKey({ keyId: uuidAt(n) }), offset);
      const { revokedAt: _revoked, monthlyCap: _cap, ...key } = anApiKey(n, { name, version: from + 1 });
      return port.replaceKey(key, from);
    },
  ),
  call('credentials.listKeys', fc.tuple(known, idPage), ({ credentials: port }, [of, page]) => port.listKeys(of, page)),
];

const email = fc.constantFrom('a@b', 'ä@b', 'A@b', '水@水', `${'x'.repeat(250)}@b`);
const identity = fc.record({ issuer: fc.constantFrom('https://one', 'https://two'), subject: filledText });
/** Each identity has a different time, because records with the same time have no defined order. */
const linkedAt = new Map<string, number>();
const linked = ({ issuer, subject }: { readonly issuer: string; readonly subject: string }, personId: string) => {
  const key = `${issuer} ${subject}`;
  linkedAt.set(key, linkedAt.get(key) ?? linkedAt.size);
  return { issuer, subject, personId, linkedAt: linkedAt.get(key) as number };
};
const people = [
  call('people.insert', fc.tuple(number, email), ({ people: port }, [n, at]) =>
    port.insert(aPerson(n, { accountId: uuidAt((n % 2) + 1), email: at })),
  ),
  call('people.read', id, ({ people: port }, of) => port.read(of)),
  call('people.findByEmail', fc.oneof(email, anyText), ({ people: port }, at) => port.findByEmail(at)),
  call('people.replace', fc.tuple(number, off, anyText), async ({ people: port }, [n, offset, sessionEpoch], first) => {
    const from = await expected(first.people.read(uuidAt(n)), offset);
    return port.replace(aPerson(n, { version: from + 1, sessionEpoch }), from);
  }),
  call('people.list', fc.tuple(known, idPage), ({ people: port }, [of, page]) => port.list(of, page)),
  call('people.remove', fc.tuple(known, off), async ({ people: port }, [of, offset], first) =>
    port.remove(of, await expected(first.people.read(of), offset)),
  ),
  call('people.insertIdentity', fc.tuple(identity, number), ({ people: port }, [key, n]) =>
    port.insertIdentity(linked(key, uuidAt(n))),
  ),
  call('people.findIdentity', fc.record({ issuer: anyText, subject: anyText }), ({ people: port }, key) =>
    port.findIdentity(key),
  ),
  call('people.findIdentity', identity, ({ people: port }, key) => port.findIdentity(key)),
  call('people.listIdentities', known, ({ people: port }, of) => port.listIdentities(of)),
  call('people.removeIdentity', fc.tuple(identity, number), ({ people: port }, [key, n]) =>
    port.removeIdentity(key, uuidAt(n)),
  ),
];

const kind = fc.constantFrom('code', 'session');
/** The key of an artefact as a client sends it. */
const artefactKey = fc.record({ kind, id: fc.oneof({ weight: 4, arbitrary: number.map(String) }, anyText) });
/** The key of an artefact that an earlier lookup may have returned. */
const foundKey = fc.record({ kind, id: fc.oneof({ weight: 4, arbitrary: number.map(String) }, text) });
const artefacts = [
  call(
    'artefacts.put',
    fc.record({ n: number, kind, group: number, owner: filledText, alias: filledText, removeAt: time, data: anyText }),
    ({ artefacts: port }, { n, group, data, ...values }) =>
      // Each artefact has a different time, because records with the same time have no defined order.
      port.put(anArtefact(n, { ...values, id: String(n), group: `group ${group}`, data: { data }, createdAt: n })),
  ),
  call('artefacts.find', artefactKey, ({ artefacts: port }, key) => port.find(key)),
  call('artefacts.findByAlias', fc.tuple(kind, anyText), ({ artefacts: port }, key) => port.findByAlias(...key)),
  call('artefacts.consume', fc.tuple(foundKey, time), ({ artefacts: port }, key) => port.consume(...key)),
  call('artefacts.end', fc.tuple(foundKey, time), ({ artefacts: port }, key) => port.end(...key)),
  call('artefacts.endGroup', fc.tuple(number, time, time), ({ artefacts: port }, [group, at, removeAt]) =>
    port.endGroup(`group ${group}`, at, removeAt),
  ),
  call('artefacts.listOwned', fc.tuple(kind, anyText, limit), ({ artefacts: port }, of) => port.listOwned(...of)),
  call('artefacts.remove', fc.tuple(artefactKey, anyText), ({ artefacts: port }, of) => port.remove(...of)),
  call('artefacts.removeOwned', fc.tuple(kind, anyText), ({ artefacts: port }, [of, owner]) =>
    port.removeOwned(of, owner, 1_000),
  ),
  call('artefacts.removeExpired', time, ({ artefacts: port }, now) => port.removeExpired(now, 1_000)),
];

const named = [
  call('providerUses.read', anyText, ({ providerUses: port }, name) => port.read(name)),
  call('providerUses.replace', fc.tuple(filledText, off), async ({ providerUses: port }, [provider, offset], first) => {
    const from = await expected(first.providerUses.read(provider), offset);
    const submissions = { thousandths: 1, refilledAt: 2 };
    return port.replace({ provider, version: from + 1, shares: [], submissions }, from);
  }),
  call('webhookEndpoints.read', number, ({ webhookEndpoints: port }, n) => port.read(uuidAt(n))),
  call('webhookEndpoints.replace', fc.tuple(number, off), async ({ webhookEndpoints: port }, [n, offset], first) => {
    const from = await expected(first.webhookEndpoints.read(uuidAt(n)), offset);
    return port.replace({ appId: uuidAt(n), accountId: uuidAt(1), version: from + 1, endpoints: [] }, from);
  }),
  call('halfHours.read', fc.oneof(number.map(String), anyText), ({ halfHours: port }, slot) => port.read(slot)),
  call(
    'halfHours.replace',
    fc.tuple(number, off, anyText),
    async ({ halfHours: port }, [n, offset, modelKey], first) => {
      const from = await expected(first.halfHours.read(String(n)), offset);
      const models = [{ modelKey, resultMs: [[1, 2]] as const, failed: [], cancelled: 0 }];
      return port.replace({ slot: String(n), version: from + 1, startsAt: 0, batches: [], acceptMs: [], models }, from);
    },
  ),
];

const sent = fc.record({ n: number, dueAt: time, url: anyText }).map(({ n, ...values }) => {
  const [of, createdAt] = [uuidAt((n % 2) + 1), n === 4 ? 1 : n];
  return delivery(n, { ...values, createdAt, endpointId: of, generationId: of, accountId: of, appId: of });
});
const deliveries = [
  call('deliveries.insert', sent, ({ deliveries: port }, record) => port.insert(record)),
  call('deliveries.read', id, ({ deliveries: port }, of) => port.read(of)),
  call('deliveries.replace', fc.tuple(sent, off), async ({ deliveries: port }, [next, offset], first) => {
    const from = await expected(first.deliveries.read(next.deliveryId), offset);
    return port.replace({ ...next, version: from + 1 }, from);
  }),
  call(
    'deliveries.list',
    fc.tuple(
      fc.record(
        {
          of: fc.constantFrom(...(Object.keys(DELIVERY_LISTS) as DeliveryList[])),
          id: known,
          createdFrom: time,
          createdBefore: time,
        },
        { requiredKeys: ['of', 'id'] },
      ),
      pageOf(createdCursor),
    ),
    ({ deliveries: port }, [wanted, page]) => port.list(wanted, page),
  ),
];

const DAYS = ['', '2026-11-29', '2026-11-30', '2026-12-01'];
const day = fc.constantFrom(...DAYS);
const fewUses = fc.constantFrom('', 'one', '水');
const sums = fc
  .record({ generations: fc.maxSafeNat(), chargedCredits: fc.maxSafeNat() })
  .map((drawn) => ({ ...drawn, lastSequence: 1, failed: 0, reservedCredits: 1, releasedCredits: 0 }));
const use: fc.Arbitrary<UseRow> = fc
  .tuple(sums, fc.record({ accountId: known, day, credentialId: text, modelKey: text, appUse: fewUses }))
  .map(([sum, key]) => ({ ...key, ...sum }));
const trace: fc.Arbitrary<TraceRow> = fc
  .tuple(sums, fc.record({ accountId: known, day, clientTraceId: text, appUse: fewUses }))
  .map(([sum, key]) => ({ ...key, ...sum }));
const range = fc.record({ from: day, to: day });
const usage = [
  call('usage.apply', fc.tuple(fc.oneof(use, trace), off), async ({ usage: port }, [row, offset], first) => {
    const [stored] = await first.usage.read([row]);
    const expectedSequence = Math.max(0, (stored?.lastSequence ?? 0) + offset);
    return port.apply([{ row: { ...row, lastSequence: expectedSequence + 1 }, expectedSequence }]);
  }),
  call('usage.read', fc.oneof(use, trace), ({ usage: port }, key) => port.read([key])),
  call('usage.list', fc.tuple(known, range), async ({ usage: port }, [of, days]) => {
    const found: UseRow[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await port.list(of, days, { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.items);
      if (page.nextCursor === undefined) return inAnyOrder(found);
      cursor = page.nextCursor;
    }
  }),
  call(
    'usage.listTraces',
    fc.tuple(
      known,
      range,
      fc.record(
        {
          limit,
          after: fc.record({ day, clientTraceId: anyText, appUse: text }, { requiredKeys: ['day', 'clientTraceId'] }),
          appUse: filledText,
        },
        { requiredKeys: ['limit'] },
      ),
    ),
    ({ usage: port }, of) => port.listTraces(...of),
  ),
  call('usage.removeTraces', fc.tuple(known, fc.constantFrom(1, 1_000)), ({ usage: port }, of) =>
    port.removeTraces(...of),
  ),
];

const word = fc.constantFrom('cat', 'ca', 'ça', '水彩', '水', 'T:a%20b', "T:'\\:*&|!()", 'x'.repeat(64), 'C:😀');
const search = [
  call(
    'generationSearch.add',
    fc.record({ n: number, account: number, terms: fc.uniqueArray(word, { maxLength: 5 }) }),
    ({ generationSearch: port }, { n, account, terms }) =>
      port.add([{ generationId: uuidAt(n), accountId: uuidAt(account), terms }]),
  ),
  call('generationSearch.remove', number, ({ generationSearch: port }, n) => port.remove([uuidAt(n)])),
  call('generationSearch.forget', number, ({ generationSearch: port }, n) => port.forget([uuidAt(n)])),
  call(
    'generationSearch.find',
    fc.record({
      accountId: known,
      terms: fc.array(fc.record({ text: word, isPrefix: fc.boolean() }), { minLength: 1, maxLength: 3 }),
      limit: fc.constantFrom(1, 2, 1_000),
    }),
    async ({ generationSearch: port }, query) =>
      (await port.find({ ...query, before: 'ffffffff-ffff-ffff-ffff-ffffffffffff', from: uuidAt(0) })).generationIds,
  ),
];

/** Sorts a list whose order the port does not define. */
function inAnyOrder<T extends object>(items: readonly T[]): readonly T[] {
  const keyed = items.map((item) => [JSON.stringify(item, Object.keys(item).toSorted()), item] as const);
  return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}

const PORTS = [
  accounts,
  acceptances,
  generations,
  claims,
  uploads,
  credentials,
  people,
  artefacts,
  named,
  deliveries,
  usage,
  search,
];

/** Calls on two ports of a database, so that calls on the same port are frequent. */
export const history: fc.Arbitrary<readonly PortCall[]> = fc
  .tuple(fc.constantFrom(...PORTS), fc.constantFrom(...PORTS))
  .chain(([one, other]) => fc.array(fc.oneof(...one, ...other), { maxLength: 120, size: 'max' }));
