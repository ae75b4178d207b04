import type pg from 'pg';
import type { CapUse, Entry, Hold } from '../../../core/credits/account.js';
import type { AtRest } from '../../history/recorded/history.js';

/** The driver returns `int8` as text, so amounts and times are texts here. */
type Row = Readonly<Record<string, string | null>>;

/** All accounts with their holds, uses of caps and entries, read from the tables without the program. */
export async function postgresBooks(client: pg.Client): Promise<AtRest['accounts']> {
  const [accounts, holds, uses, entries] = [
    await rowsOf(client, 'accounts'),
    await rowsOf(client, 'holds'),
    await rowsOf(client, 'cap_uses'),
    await rowsOf(client, 'entries'),
  ];
  return accounts.map((row) => {
    const isOf = (other: Row) => other['account'] === row['id'];
    return {
      accountId: text(row, 'id'),
      name: text(row, 'name'),
      currency: text(row, 'currency'),
      createdAt: number(row, 'created_at'),
      version: number(row, 'version'),
      issued: number(row, 'issued'),
      available: number(row, 'available'),
      reserved: number(row, 'reserved'),
      spent: number(row, 'spent'),
      lastSequence: number(row, 'last_sequence'),
      holds: new Map(holds.filter(isOf).map((hold) => [text(hold, 'generation'), holdOf(hold)])),
      capUses: new Map(uses.filter(isOf).map((use) => [text(use, 'credential'), useOf(use)])),
      entries: entries
        .filter(isOf)
        .map(entryOf)
        .sort((a, b) => a.sequence - b.sequence),
    };
  });
}

async function rowsOf(client: pg.Client, table: string): Promise<readonly Row[]> {
  return (await client.query<Row>(`SELECT * FROM darkroom.${table}`)).rows;
}

function holdOf(row: Row): Hold {
  return {
    generationId: text(row, 'generation'),
    credits: number(row, 'credits'),
    heldAt: number(row, 'held_at'),
  };
}

function useOf(row: Row): CapUse {
  return { credentialId: text(row, 'credential'), period: text(row, 'period'), used: number(row, 'used') };
}

function entryOf(row: Row): Entry {
  return {
    accountId: text(row, 'account'),
    sequence: number(row, 'sequence'),
    kind: text(row, 'kind') as Entry['kind'],
    from: text(row, 'from_book') as Entry['from'],
    to: text(row, 'to_book') as Entry['to'],
    credits: number(row, 'credits'),
    at: number(row, 'at'),
    availableAfter: number(row, 'available_after'),
    ...optional('generationId', row['generation']),
    ...optional('operationId', row['operation_id']),
    ...optional('reason', row['reason']),
    ...attributionOf(row),
  };
}

function attributionOf(row: Row): Pick<Entry, 'attribution'> {
  const [credentialId, modelKey] = [row['credential'], row['model']];
  if (typeof credentialId !== 'string' || typeof modelKey !== 'string') return {};
  return {
    attribution: {
      credentialId,
      ...optional('appId', row['app']),
      modelKey,
      ...optional('clientTraceId', row['trace']),
      ...optional('capPeriod', row['cap_period']),
    },
  };
}

function optional<N extends string>(name: N, value: string | null | undefined): { readonly [K in N]?: string } {
  return typeof value === 'string' ? ({ [name]: value } as { readonly [K in N]: string }) : {};
}

function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new Error(`A row has no ${column}.`);
  return value;
}

function number(row: Row, column: string): number {
  return Number(text(row, column));
}
