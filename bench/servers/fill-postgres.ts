import type pg from 'pg';
import { recordText } from '../../adapters/record-text.js';
import type { Generation } from '../../core/generation/generation.js';
import { entryOf } from '../../core/search/words.js';
import { SAMPLE_REQUEST } from './sample.js';

/** Accounts that the program has created, each with one App and one grant. */
export interface FilledAccounts {
  readonly accountIds: readonly string[];
  readonly appIds: readonly string[];
}

const A_BATCH = 20_000;
const PROMPTS = 20_000;
const WORDS = 30_000;
const WORDS_PER_PROMPT = 18;
/** Over which the generations are spread, in milliseconds. */
const SPAN_MS = 90 * 86_400_000;
/** Those that are not ended, at the most, and claims: one for each of the newest tenth. */
const OPEN = 1_000;
const CLAIMED = 0.1;

/** What the statements below replace in the text of a record. */
const PLACES = { id: '@id@', account: '@account@', app: '@app@', prompt: '@prompt@', at: '"@at@"' } as const;

/** The id of a generation of version 7, from its number and the time of its creation. */
const ID = `(lpad(to_hex(at), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid`;

const GENERATIONS = `
  INSERT INTO darkroom.generations (id, account, app, kind, version, attention_at, doc, status, created_at, model, trace,
    open_at, open_state, thumbnail_bytes)
  SELECT id, account, app, 'generation', $6, $7::int8 + at,
    replace(replace(replace(replace(replace($3, '@id@', id::text), '@account@', account::text), '@app@', app::text),
      '@prompt@', prompt), '"@at@"', at::text),
    $5, at, $4, $8, CASE WHEN $9 THEN at END, CASE WHEN $9 THEN 'queued' END, NULL
  FROM filling WHERE n >= $1 AND n < $2 ORDER BY n`;
const ENTRIES = `
  INSERT INTO darkroom.entries (account, sequence, kind, from_book, to_book, credits, at, available_after, generation, credential,
    model, trace, app)
  SELECT account, sequence + kind.more, kind.name, kind.source, kind.target, $3, at, $4::int8 - $3::int8 * sequence, id, account::text, $5, $6,
    app::text
  FROM filling, (VALUES (0, 'hold', 'available', 'reserved'), (1, 'charge', 'reserved', 'spent')) AS kind (more, name, source, target)
  WHERE n >= $1 AND n < $2 AND (kind.more = 0 OR NOT $7)`;
const HOLDS = `
  INSERT INTO darkroom.holds (account, generation, credits, held_at, credential, model, trace, app)
  SELECT account, id, $3, at, account::text, $4, $5, app::text FROM filling WHERE n >= $1 AND n < $2`;
const CLAIMS = `
  INSERT INTO darkroom.claims (key_digest, version, digest, subject, created_at, lease_expires_at, remove_at)
  SELECT decode(md5(n::text || ' key'), 'hex'), 1, $3, id, at, 0, at + 30 * 86400000::int8 FROM filling WHERE n >= $1 AND n < $2`;
const SEARCH = `
  INSERT INTO darkroom.search_entries (generation, account, words)
  SELECT id, account, array_to_tsvector(ARRAY(SELECT right(account::text, 8) || ':' || term FROM unnest(terms || ARRAY[
    'A:' || app, 'M:' || $3, 'C:' || account, 'K:image', 'T:' || $4]) AS term))
  FROM filling WHERE n >= $1 AND n < $2`;

/** A word of this rank: the lower, the more often it is used. */
export function wordOf(rank: number): string {
  const letters = [...String(rank)].map((digit) => 'aeiourstln'[Number(digit)] ?? '').join('');
  return `${'bcdfghjkmpqvwxyz'[rank % 16]}${letters}`;
}

/** Ranks as in Zipf's law. */
function drawnPrompt(): string {
  const drawn = () => wordOf(Math.min(WORDS - 1, Math.floor(Math.exp(Math.random() * Math.log(WORDS)) - 1)));
  return Array.from({ length: WORDS_PER_PROMPT }, drawn).join(' ');
}

/**
 * Fills the tables with generations of these accounts, in turn, as the program would have left them: records that have ended, their
 * entries of the ledger, words of the search and claims of the newest tenth; a thousand are queued. Calls `reached` after each
 * batch, and ends early when that returns false.
 */
export async function fillPostgres(
  client: pg.Client,
  {
    count,
    accounts: { accountIds, appIds },
    states,
    reached,
  }: {
    readonly count: number;
    readonly accounts: FilledAccounts;
    readonly states: { readonly queued: Generation; readonly settled: Generation };
    readonly reached: (filled: number) => boolean;
  },
): Promise<number> {
  const now = Date.now();
  const { modelKey, reservedCredits } = states.settled;
  const trace = SAMPLE_REQUEST.client_trace_id;
  await client.query(`SET synchronous_commit = off; SET work_mem = '256MB'`);
  const prompts = Array.from({ length: PROMPTS }, drawnPrompt);
  await client.query('CREATE TEMP TABLE prompts (n int PRIMARY KEY, prompt text, terms text[])');
  await client.query(
    `INSERT INTO prompts SELECT n - 1, prompt, string_to_array(terms, ' ')
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (prompt, terms, n)`,
    [prompts, prompts.map((prompt) => wordsOf(states.settled, prompt).join(' '))],
  );
  await client.query('CREATE TEMP TABLE owners (n int PRIMARY KEY, account uuid, app uuid)');
  await client.query(
    'INSERT INTO owners SELECT n - 1, account, app FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS given (account, app, n)',
    [accountIds, appIds],
  );
  await client.query('ANALYZE prompts; ANALYZE owners');
  const owners = accountIds.length;
  // The first entry of each account is its grant.
  await client.query(`CREATE TEMP TABLE filling AS SELECT 0::int8 AS n, 0::int8 AS at, account AS id, account, app, ''::text AS prompt,
    ARRAY[]::text[] AS terms, 0::int8 AS sequence FROM owners LIMIT 0`);
  let filled = 0;
  for (; filled < count;) {
    const isOpen = filled + OPEN >= count;
    const to = isOpen ? count : Math.min(filled + A_BATCH, count - OPEN);
    const { queued, settled } = states;
    const state = isOpen ? queued : settled;
    await client.query('TRUNCATE filling');
    await client.query(
      `INSERT INTO filling SELECT made.n, at, id, account, app, prompt, terms, 2 + 2 * (made.n / ${owners})
        FROM (SELECT n, at, ${ID} AS id FROM (SELECT n, ($3 + n * $4::float8)::int8 AS at FROM generate_series($1::int8, $2::int8 - 1) AS n) AS timed) AS made
        JOIN owners ON owners.n = made.n % ${owners} JOIN prompts ON prompts.n = (made.n * 7919) % ${PROMPTS}`,
      [filled, to, now - SPAN_MS, SPAN_MS / count],
    );
    const bounds = [filled, to];
    await client.query(GENERATIONS, [
      ...bounds,
      textOf(state),
      modelKey,
      state.status,
      state.version,
      state.dueAt - state.createdAt,
      trace,
      isOpen,
    ]);
    await client.query(ENTRIES, [...bounds, reservedCredits, 1_000_000_000_000, modelKey, trace, isOpen]);
    await client.query(SEARCH, [...bounds, modelKey, trace]);
    if (isOpen) await client.query(HOLDS, [...bounds, reservedCredits, modelKey, trace]);
    if (to > count * (1 - CLAIMED)) await client.query(CLAIMS, [...bounds, 'x'.repeat(43)]);
    filled = to;
    if (!reached(filled)) break;
  }
  await client.query(
    `UPDATE darkroom.accounts SET version = version + summed.entries, last_sequence = last_sequence + summed.entries,
        available = available - summed.charged - summed.held, spent = summed.charged, reserved = summed.held
      FROM (SELECT account, count(*) AS entries, coalesce(sum(credits) FILTER (WHERE kind = 'charge'), 0)::int8 AS charged,
          (coalesce(sum(credits) FILTER (WHERE kind = 'hold'), 0) - coalesce(sum(credits) FILTER (WHERE kind = 'charge'), 0))::int8 AS held
        FROM darkroom.entries WHERE sequence > 1 GROUP BY account) AS summed
      WHERE accounts.id = summed.account`,
  );
  return filled;
}

function wordsOf(generation: Generation, prompt: string): readonly string[] {
  return entryOf({ ...generation, prompt }).terms.filter((term) => !term.includes(':'));
}

/** The text of a record, with places for what differs between generations. */
function textOf(state: Generation): string {
  const { generationId, accountId, appId, prompt, createdAt } = state;
  return recordText(state)
    .replaceAll(generationId, PLACES.id)
    .replaceAll(accountId, PLACES.account)
    .replaceAll(appId, PLACES.app)
    .replace(JSON.stringify(prompt), JSON.stringify(PLACES.prompt))
    .replaceAll(`"createdAt":${createdAt}`, `"createdAt":${PLACES.at}`);
}
