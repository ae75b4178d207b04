/**
 * An account of what an API key was charged that uses none of the program's own rules: sums over the ledger and over the
 * generations, as REST shows both.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';

const API = '/api/v1/developer';
const PAGE = 100;
const RECOVERY_POLL_MS = 1_000;

interface Entry {
  readonly sequence: number;
  readonly kind: 'grant' | 'adjustment' | 'hold' | 'charge' | 'release';
  readonly credits: number;
  readonly available_change: number;
  readonly generation_id?: string;
}

interface Task {
  readonly generation_id: string;
  readonly status: string;
  readonly charged_credits: number;
  readonly outputs?: readonly unknown[];
}

export interface Books {
  readonly generations: number;
  readonly entries: number;
  readonly charged: number;
}

/** A request to the service, repeated while it does not answer or says that it will later. */
export async function ask<T = JsonObject>(url: string, key: string, path: string): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      const response = await fetch(url + API + path, { headers: { Authorization: `Bearer ${key}` } });
      if (response.status === 200) return ((await response.json()) as { data: T }).data;
      if (response.status < 500 || tries > 600) throw new Refused(`${path} answered ${response.status}`);
    } catch (error) {
      if (error instanceof Refused || tries > 600) throw error;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
}

class Refused extends Error {}

/** The number of entries of each kind, and their credits. */
type Sums = Readonly<Record<'hold' | 'charge' | 'release', number[]>>;

/**
 * Checks that every accepted generation is there once and has ended, that each was held once and charged at most once,
 * for what the generation says, and that the balance is the sum of all entries.
 */
export async function checkBooks(url: string, key: string, accepted: ReadonlySet<string>): Promise<Books> {
  const tasks = await everything<Task>(url, key, '/generations', 'generations');
  const entries = await everything<Entry>(url, key, '/credits/entries', 'entries');
  expect(new Set(tasks.map((task) => task.generation_id)).size, 'no generation is listed twice').to.equal(tasks.length);
  expect(tasks.map((task) => task.generation_id)).to.include.members([...accepted]);
  expect(
    tasks.filter(({ status }) => !['succeeded', 'failed', 'cancelled'].includes(status)),
    'every generation has ended',
  ).to.deep.equal([]);

  expect(entries.map(({ sequence }) => sequence).toReversed(), 'no entry is missing').to.deep.equal(
    entries.map((_, index) => index + 1),
  );
  const nothing = (): Sums => ({ hold: [0, 0], charge: [0, 0], release: [0, 0] });
  const sums = new Map(tasks.map(({ generation_id: id }) => [id, nothing()]));
  for (const { kind, credits, generation_id: id = '' } of entries) {
    if (kind === 'grant' || kind === 'adjustment') continue;
    // A process that dies between the hold of a create and its generation leaves a hold, which recovery releases.
    if (!sums.has(id)) sums.set(id, nothing());
    const sum = sums.get(id)?.[kind];
    if (sum) [sum[0], sum[1]] = [(sum[0] ?? 0) + 1, (sum[1] ?? 0) + credits];
  }
  const listed = new Set(tasks.map((task) => task.generation_id));
  const unlisted = [...sums].filter(([id]) => !listed.has(id)).map(([, sum]) => sum);
  expect(sumOf(unlisted.map(({ charge }) => charge[0] ?? 0)), 'nothing is charged without a generation').to.equal(0);
  // One that dies, or loses its database, between the end of a generation and its charge leaves that to recovery too.
  const isOpen = ({ hold, charge, release }: Sums) => (hold[1] ?? 0) !== (charge[1] ?? 0) + (release[1] ?? 0);
  if ([...sums.values()].some(isOpen)) {
    await sleep(RECOVERY_POLL_MS);
    return checkBooks(url, key, accepted);
  }
  for (const { generation_id: id, charged_credits: charged } of tasks) {
    const { hold = [], charge = [], release = [] } = sums.get(id) ?? {};
    expect([hold[0], (charge[0] ?? 0) <= 1], `${id} is held once and charged at most once`).to.deep.equal([1, true]);
    expect(charge[1], `${id} is charged what it says`).to.equal(charged);
    expect((charge[1] ?? 0) + (release[1] ?? 0), `${id} returns the rest`).to.equal(hold[1]);
  }
  const { available_credits: available } = await ask<{ available_credits: number }>(url, key, '/credits');
  expect(available, 'the balance').to.equal(sumOf(entries.map((entry) => entry.available_change)));
  const charged = sumOf(tasks.map((task) => task.charged_credits));
  const granted = sumOf(entries.filter(({ kind }) => kind === 'grant').map(({ credits }) => credits));
  expect(available + charged, 'nothing is lost').to.equal(granted);
  return { generations: tasks.length, entries: entries.length, charged };
}

async function everything<T>(url: string, key: string, path: string, field: string): Promise<T[]> {
  const found: T[] = [];
  for (let cursor = ''; ;) {
    const query = `?limit=${PAGE}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = await ask<{ next_cursor?: string } & Record<string, unknown>>(url, key, path + query);
    found.push(...(page[field] as T[]));
    if (page.next_cursor === undefined) return found;
    cursor = page.next_cursor;
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
