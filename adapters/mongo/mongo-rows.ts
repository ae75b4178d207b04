import type { Document, Filter, UUID } from 'mongodb';
import type { AccountStore } from '../../core/ports/stores.js';
import {
  COPIED_TABLES,
  type CopiedNamed,
  type CopiedRow,
  type CopiedTable,
  type CopiedTableName,
  ROWS_AT_ONCE,
  type TextOfRecord,
} from '../copied-tables.js';
import { claimKeyDigest, flat } from '../rows/tables.js';
import { type AccountDocument, accountOf } from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { Documents, textOf } from './documents.js';
import { artefactOf } from './mongo-artefact-store.js';
import { claimOf } from './mongo-claim-store.js';
import { appOf, keyOf } from './mongo-credential-store.js';
import { identityOf } from './mongo-person-store.js';
import { traceRowOf, useRowOf } from './mongo-usage-store.js';
import { BY_ID, type CollectionName } from './schema.js';

/** The collection of a table, and the rows that a document of it is. */
interface Source<R extends object> {
  readonly collection: CollectionName;
  // Each function reads the documents of one collection, of which a table does not know the type.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly recordsOf: (document: any) => readonly R[];
}

type RecordOf<N extends CopiedTableName> = (typeof COPIED_TABLES)[N] extends CopiedTable<infer R> ? R : never;

/** Every table but the entries, which accounts and a collection of their own share. */
const SOURCES: { readonly [N in Exclude<CopiedTableName, 'entries'>]: Source<RecordOf<N>> } = {
  accounts: each('accounts', (account: AccountDocument) => accountOf(account)),
  holds: {
    collection: 'accounts',
    recordsOf: (document: AccountDocument) => {
      const { accountId, holds } = accountOf(document);
      return [...holds.values()].map((hold) => ({ accountId, ...flat(hold) }));
    },
  },
  cap_uses: {
    collection: 'accounts',
    recordsOf: (document: AccountDocument) => {
      const { accountId, capUses } = accountOf(document);
      return [...(capUses?.values() ?? [])].map((use) => ({ accountId, ...use }));
    },
  },
  claims: each('claims', (document: Parameters<typeof claimOf>[1]) => {
    // Only the key, which comes last, may hold a slash.
    const [accountId = '', appId = '', operation = '', ...key] = document._id.split('/');
    const claim = claimOf({ accountId, appId, operation: operation as never, key: key.join('/') }, document);
    return { ...claim, keyDigest: claimKeyDigest(claim) };
  }),
  fingerprints: each('fingerprints', ({ _id, account, version, creates, removeAt }: Document) => ({
    fingerprint: Buffer.from((_id as { buffer: Uint8Array }).buffer).toString('hex'),
    accountId: textOf(account as UUID),
    version: version as number,
    creates: JSON.parse(creates as string) as RecordOf<'fingerprints'>['creates'],
    removeAt: removeAt as number,
  })),
  boot_leases: each('boot_leases', ({ _id, renewals, renewedAt, removeAt }: Document) => ({
    bootId: textOf(_id as UUID),
    renewals: renewals as number,
    renewedAt: renewedAt as number,
    removeAt: removeAt as number,
  })),
  generations: each('generations', textOfRecord),
  uploads: each('uploads', textOfRecord),
  deliveries: each('deliveries', textOfRecord),
  erasures: each('erasures', textOfRecord),
  apps: each('apps', appOf),
  keys: each('keys', keyOf),
  people: each('people', (document: Document) => ({
    ...textOfRecord(document),
    accountId: textOf(document['account'] as UUID),
    version: document['version'] as number,
    email: document['email'] as string,
  })),
  identities: each('identities', identityOf),
  artefacts: each('artefacts', artefactOf),
  ended_groups: each('ended_groups', ({ _id, at, removeAt }: Document) => ({
    group: _id as string,
    at: at as number,
    removeAt: removeAt as number,
  })),
  provider_uses: each('provider_uses', namedText),
  webhook_endpoints: each('webhook_endpoints', namedText),
  half_hours: each('half_hours', namedText),
  usage: each('usage', useRowOf),
  usage_by_trace: each('usage_by_trace', traceRowOf),
};

function each<D, R extends object>(collection: CollectionName, recordOf: (document: D) => R): Source<R> {
  return { collection, recordsOf: (document: D) => [recordOf(document)] };
}

function textOfRecord({ _id, record }: Document): TextOfRecord {
  return { id: textOf(_id as UUID), text: record as string };
}

function namedText({ _id, version, record }: Document): CopiedNamed {
  return { name: _id as string, version: version as number, text: record as string };
}

/** All rows of a table, some at a time. Throws `StoreUnavailable`. */
export async function* rowsOf(
  connection: MongoConnection,
  accounts: Pick<AccountStore, 'entries'>,
  name: CopiedTableName,
): AsyncGenerator<readonly CopiedRow[]> {
  if (name === 'entries') return yield* entriesOf(connection, accounts);
  const { collection, recordsOf }: Source<object> = SOURCES[name];
  const table = COPIED_TABLES[name] as CopiedTable<object>;
  for await (const documents of documentsOf(connection, collection)) {
    const rows = documents.flatMap((document) => recordsOf(document)).map((record) => table.valuesOf(record));
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) yield rows.slice(from, from + ROWS_AT_ONCE);
  }
}

async function* entriesOf(
  connection: MongoConnection,
  accounts: Pick<AccountStore, 'entries'>,
): AsyncGenerator<readonly CopiedRow[]> {
  for await (const documents of documentsOf(connection, 'accounts'))
    for (const { _id } of documents)
      for (let cursor: string | undefined; ;) {
        const page = { limit: ROWS_AT_ONCE, ...(cursor === undefined ? {} : { cursor }) };
        const { items, nextCursor } = await accounts.entries(textOf(_id as UUID), page);
        if (items.length > 0) yield items.map((entry) => COPIED_TABLES.entries.valuesOf(flat(entry)));
        if (nextCursor === undefined) break;
        cursor = nextCursor;
      }
}

async function* documentsOf(connection: MongoConnection, name: CollectionName): AsyncGenerator<readonly Document[]> {
  const documents = new Documents<Document>(connection, name);
  for (let after: unknown; ;) {
    const filter = (after === undefined ? {} : { _id: { $gt: after } }) as Filter<Document>;
    const found = await documents.find(filter, { sort: { _id: 1 }, limit: ROWS_AT_ONCE, hint: BY_ID });
    if (found.length > 0) yield found;
    after = found.at(-1)?.['_id'];
    if (after === undefined || found.length < ROWS_AT_ONCE) return;
  }
}
