import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { PostgresStores } from '../../adapters/postgres/open-postgres.js';
import { recordFrom } from '../../adapters/record-text.js';
import type { Generation } from '../../core/generation/generation.js';
import { leastIdAt } from '../../core/ids.js';
import type { AppGenerations } from '../../core/ports/stores.js';
import { entryOf, termsOf } from '../../core/search/words.js';
import { withClient } from '../../test/servers/postgres-client.js';

/** Accounts and generations of a database whose generations have all ended. They are numbered from 0, in turn over the accounts. */
export interface History {
  readonly accounts: number;
  readonly generations: number;
  /** When the first one was created, in milliseconds since the epoch; each later one was created a millisecond after the one before. */
  readonly startsAt: number;
}

/** Rows that one statement inserts. */
const BATCH = 100_000;
/** Different words in prompts, how many of them a prompt has, and how a word begins. */
const WORDS = 30_000;
const WORDS_PER_PROMPT = 18;
const WORD = 'word';

/** The columns of `rows` from a number of a generation, `i`. */
const NUMBERED = `SELECT i, i % $3::int8 AS k, i / $3::int8 AS n, md5(i::text) AS h, $4::int8 + i AS at FROM generate_series($1::int8, $2::int8 - 1) AS i`;
const ID = `(lpad(to_hex(rows.at), 12, '0') || '7' || left(rows.h, 3) || '8' || substr(rows.h, 4, 15))::uuid`;
const OWNER = { account: `md5('account ' || rows.k)::uuid`, app: `md5('app ' || rows.k)::uuid` } as const;
/** The rank of a random word, whose frequency follows Zipf's law. The number of the row makes PostgreSQL draw one for each row. */
const RANK = `floor(exp(random() * ln(${WORDS})) - 1)::int + 0 * rows.i::int`;

const PAGE = 20;
/** Clients ask for the status of recent generations: any of so many of the newest. */
const RECENT = 100_000;
const FREQUENT_WORDS = 1_000;

/** Returns how many records it has found. */
type HistoryRead = (stores: PostgresStores, history: History) => Promise<number>;

/** Each reads records of a random account, or one of the newest generations. */
export const HISTORY_READS = {
  'status': async ({ generations }, history) => {
    const index = history.generations - 1 - below(Math.min(RECENT, history.generations));
    return (await generations.read(generationIdAt(history, index))) === null ? 0 : 1;
  },
  'list': (from, history) => listed(from, history),
  'list by status': (from, history) => listed(from, history, { field: 'status', value: 'succeeded' }),
  'entries': async ({ accounts }, history) =>
    (await accounts.entries(accountIdAt(below(history.accounts)), { limit: PAGE })).items.length,
  'search': async ({ generationSearch }, history) => {
    const { generationIds } = await generationSearch.find({
      accountId: accountIdAt(below(history.accounts)),
      terms: termsOf(`${WORD}${below(FREQUENT_WORDS)}`),
      before: generationIdAt(history, history.generations),
      from: leastIdAt(0),
      limit: PAGE,
    });
    return generationIds.length;
  },
  'recovery': async ({ generations }) => {
    await generations.countOpen();
    return (await generations.due(Date.now(), PAGE)).length;
  },
} as const satisfies Readonly<Record<string, HistoryRead>>;

export type HistoryReadName = keyof typeof HISTORY_READS;

async function listed(
  { generations }: PostgresStores,
  { accounts }: History,
  only?: AppGenerations['only'],
): Promise<number> {
  const wanted = { of: 'app', appId: appIdAt(below(accounts)), ...(only === undefined ? {} : { only }) } as const;
  return (await generations.list(wanted, { limit: PAGE })).items.length;
}

function below(count: number): number {
  return Math.floor(Math.random() * count);
}

function generationIdAt({ startsAt }: History, index: number): string {
  const hash = md5(String(index));
  return uuidOf(`${(startsAt + index).toString(16).padStart(12, '0')}7${hash.slice(0, 3)}8${hash.slice(3, 18)}`);
}

function accountIdAt(index: number): string {
  return uuidOf(md5(`account ${index}`));
}

function appIdAt(index: number): string {
  return uuidOf(md5(`app ${index}`));
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Fills a database with copies of one of its generations: its record, claim, ledger entries and search entry, and the totals of
 * its account. The index of words is built at the end.
 */
export async function fillHistory(url: string, history: History, log: (line: string) => void): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`SET synchronous_commit = off; SET maintenance_work_mem = '1GB'; SET work_mem = '64MB'`);
    const { rows } = await client.query<{ id: string; account: string; app: string; doc: string; created_at: string }>(
      `SELECT * FROM darkroom.generations WHERE status = 'succeeded' ORDER BY id LIMIT 1`,
    );
    const [template] = rows;
    if (template === undefined) throw new Error('There is no generation to copy.');
    await client.query(`
      CREATE TEMP TABLE one AS SELECT * FROM darkroom.generations WHERE id = '${template.id}';
      CREATE TEMP TABLE one_claim AS SELECT * FROM darkroom.claims WHERE subject = '${template.id}';
      CREATE TEMP TABLE one_account AS SELECT * FROM darkroom.accounts WHERE id = '${template.account}';
      CREATE TEMP TABLE ones AS SELECT *, row_number() OVER (ORDER BY sequence) AS place
        FROM darkroom.entries WHERE generation = '${template.id}'`);
    const { rows: indexes } = await client.query<{ sql: string }>(
      `SELECT pg_get_indexdef('darkroom.search_by_words'::regclass) AS sql`,
    );
    await client.query('DROP INDEX darkroom.search_by_words');
    await addAccounts(client, history);
    const statements = await statementsOf(client, template);
    for (let from = 0; from < history.generations; from += BATCH) {
      const to = Math.min(history.generations, from + BATCH);
      for (const sql of statements) await client.query(sql, [from, to, history.accounts, history.startsAt]);
      if ((to / BATCH) % 10 === 0) log(`${to} generations`);
    }
    await client.query(indexes[0]?.sql ?? '');
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
  });
}

interface Template {
  readonly id: string;
  readonly account: string;
  readonly app: string;
  readonly doc: string;
  readonly created_at: string;
}

async function statementsOf(client: pg.Client, { id, account, app, doc, created_at: at }: Template): Promise<string[]> {
  const copied = [
    [id, `${ID}::text`],
    [account, `${OWNER.account}::text`],
    [app, `${OWNER.app}::text`],
    [at, 'rows.at::text'],
  ].reduce((text, [from, to]) => `replace(${text}, '${from}', ${to})`, 'one.doc');
  const { terms } = entryOf(recordFrom<Generation>(doc));
  const facets = terms.filter((term) => term.includes(':')).map((term) => client.escapeLiteral(term));
  const mark = `right(${OWNER.account}::text, 8) || ':'`;
  const words = `ARRAY(SELECT ${mark} || term FROM (
    SELECT unnest(ARRAY[${facets.join(', ')}]) AS term
    UNION ALL SELECT '${WORD}' || ${RANK} FROM generate_series(1, ${WORDS_PER_PROMPT})) AS terms)`;
  return [
    await copyOf(client, 'claims', 'one_claim', {
      key_digest: `sha256(int8send(rows.i))`,
      subject: ID,
      created_at: 'rows.at',
    }),
    await copyOf(client, 'generations', 'one', { id: ID, ...OWNER, doc: copied, created_at: 'rows.at' }),
    await copyOf(client, 'entries', 'ones', {
      account: OWNER.account,
      app: `${OWNER.app}::text`,
      sequence: 'rows.n * (SELECT count(*) FROM ones) + ones.place',
      generation: ID,
      at: 'rows.at',
    }),
    `WITH rows AS (${NUMBERED}) INSERT INTO darkroom.search_entries (generation, account, words)
      SELECT ${ID}, ${OWNER.account}, array_to_tsvector(${words}) FROM rows`,
  ];
}

/** Returns a statement that inserts the rows of `source` once for each generation, with some columns replaced. */
async function copyOf(
  client: pg.Client,
  table: string,
  source: string,
  replaced: Readonly<Record<string, string>>,
): Promise<string> {
  const names = await columnsOf(client, table);
  const values = names.map((name) => replaced[name] ?? `${source}.${name}`);
  return `WITH rows AS (${NUMBERED}) INSERT INTO darkroom.${table} (${names.join(', ')})
    SELECT ${values.join(', ')} FROM rows CROSS JOIN ${source} ORDER BY rows.i`;
}

async function addAccounts(client: pg.Client, { accounts, generations }: History): Promise<void> {
  const entries = (await client.query('SELECT FROM ones')).rowCount ?? 0;
  const each = Math.ceil(generations / accounts);
  const replaced: Readonly<Record<string, string>> = {
    id: OWNER.account,
    last_sequence: String(each * entries),
    version: String(each * entries),
  };
  const names = await columnsOf(client, 'accounts');
  await client.query(
    `INSERT INTO darkroom.accounts (${names.join(', ')})
      SELECT ${names.map((name) => replaced[name] ?? `one_account.${name}`).join(', ')}
      FROM generate_series(0, $1::int - 1) AS rows (k) CROSS JOIN one_account`,
    [accounts],
  );
}

async function columnsOf(client: pg.Client, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [`darkroom.${table}`],
  );
  return rows.map(({ name }) => name);
}
