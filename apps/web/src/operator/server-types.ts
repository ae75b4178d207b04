import type { Entry as LedgerEntry, Json, Status } from '../api-types.js';
import type { Scope } from '../server-types.js';

/** The server's responses under `/console/api/operator`. Values that do not exist are left out. */

export interface Account {
  readonly account_id: string;
  readonly name: string;
  readonly currency: string;
  readonly created_at: string;
  readonly suspended_at?: string;
  readonly erased_at?: string;
  readonly issued_credits: number;
  readonly available_credits: number;
  readonly reserved_credits: number;
  readonly spent_credits: number;
  readonly open_holds: number;
}

/** How far an erasure is. */
export interface Erasure {
  readonly erasure_id: string;
  readonly requested_at: string;
  /** The stored content is gone. */
  readonly erased_at?: string;
  /** Late remains are gone too. */
  readonly completed_at?: string;
}

/** An account that was suspended, with what became of its open generations, if they were to end. */
export interface Suspended {
  readonly account: Account;
  readonly work?: { readonly cancelled: number; readonly stopping: number; readonly unfinished: number };
}

export interface AppStorage {
  readonly app_id: string;
  readonly name: string;
  readonly uploads: number;
  readonly unfinished_uploads: number;
  readonly upload_bytes: number;
}

export interface Storage {
  readonly uncharged_content: { readonly bytes: number; readonly generations: number };
  readonly thumbnails: { readonly bytes: number; readonly generations: number };
  readonly apps: readonly AppStorage[];
  readonly limits: {
    readonly uncharged_content_bytes: number;
    readonly uploads: number;
    readonly unfinished_uploads: number;
    readonly upload_bytes: number;
  };
}

export interface Key {
  readonly key_id: string;
  readonly app_id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The beginning and the end of the secret; empty for a key of a release that kept neither. */
  readonly hint: string;
  readonly monthly_cap?: number;
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
  readonly last_used_on?: string;
}

export interface Person {
  readonly person_id: string;
  readonly email: string;
  readonly created_at: string;
  readonly disabled_at?: string;
  readonly last_sign_in_on?: string;
  readonly operator_since?: string;
  readonly has_password: boolean;
  readonly passkeys: number;
}

export interface WithLink {
  readonly person: Person;
  readonly sign_in_link?: string;
  readonly sign_in_link_expires_at?: string;
}

export interface Entry {
  readonly sequence: number;
  readonly at: string;
  readonly kind: LedgerEntry['kind'];
  readonly credits: number;
  readonly available_change: number;
  readonly available_after: number;
  readonly generation_id?: string;
  readonly operation_id?: string;
  readonly reason?: string;
  readonly credential_name?: string;
  /** The operator who made the entry in this area. */
  readonly operator_email?: string;
}

export interface Operated {
  readonly account: Account;
  /** The time when it was first made, if this is a repetition. */
  readonly earlier_at?: string;
}

export interface Generation {
  readonly generation_id: string;
  readonly account_id: string;
  readonly app_id: string;
  readonly status: Status;
  readonly model_key: string;
  readonly created_at: string;
  readonly completed_at?: string;
  readonly cancel_requested_at?: string;
  readonly reserved_credits: number;
  readonly charged_credits: number;
  readonly attempts: number;
  readonly worker?: string;
  readonly provider?: string;
  readonly error?: { readonly code: string; readonly message: string };
  readonly client_trace_id?: string;
  readonly output_count: number;
}

export interface Content {
  readonly prompt: string;
  readonly negative_prompt?: string;
  readonly parameters: Json;
  readonly reference_upload_ids: readonly string[];
}

export interface Work {
  readonly generation_id: string;
  readonly account_id: string;
  readonly account_name?: string;
  readonly reserved_credits: number;
  readonly reserved_at: string;
  readonly generation?: Generation;
}

export type Circuit = 'closed' | 'paused' | 'trying';

export interface Worker {
  readonly worker: string;
  readonly circuit: Circuit;
  readonly paused_until?: string;
  readonly last_error?: { readonly at: string; readonly message: string };
  readonly median_submit_ms?: number;
  readonly tasks: number;
  readonly waiting: number;
  readonly seen_at: string;
  readonly is_current: boolean;
}

export type ProviderState = 'healthy' | 'idle' | 'slowed' | 'paused' | 'trying' | 'unreachable';

export interface Provider {
  readonly name: string;
  readonly kind: string;
  readonly state: ProviderState;
  /** Why it is in this state, in a sentence. */
  readonly reason: string;
  readonly paused_until?: string;
  readonly failing_since?: string;
  readonly last_call_at?: string;
  readonly circuit: Circuit;
  readonly tasks: number;
  readonly waiting: number;
  readonly max_concurrent?: number;
  readonly max_submissions_per_minute?: number;
  readonly models: readonly { readonly model_key: string }[];
  readonly workers: readonly Worker[];
}

/** The terms of a price; amounts are millionths of a credit where their names say so. */
export interface Price {
  readonly version: string;
  readonly unit: string;
  readonly microcredits_per_unit: number;
  readonly base_microcredits: number;
  readonly minimum_credits: number;
  readonly maximum_credits: number;
}

export interface CatalogModel {
  readonly model_key: string;
  readonly name: string;
  readonly modality: string;
  readonly is_test: boolean;
  readonly price: Price;
  readonly route: readonly { readonly provider: string; readonly weight: number; readonly is_connected: boolean }[];
  readonly example_count: number;
}

/** The catalog that the answering process uses. */
export interface Catalog {
  readonly file_name: string;
  readonly read_at: string;
  readonly models: readonly CatalogModel[];
  readonly text?: string;
  readonly text_hidden?: 'large' | 'secrets';
  readonly is_only_process: boolean;
}

/** The file as it is now, compared with the catalog in use. */
export interface CatalogCheck {
  readonly file_name: string;
  readonly faults: readonly { readonly line?: number; readonly message: string }[];
  readonly changes?: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
    readonly is_reordered: boolean;
  };
  readonly model_count?: number;
}

/** A line of a check of the ledgers: its progress, and in the last line its outcome. */
export interface CheckLine {
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
  readonly findings?: readonly string[];
  readonly is_stopped?: true;
  readonly fault?: string;
}

const UNITS: readonly [unit: 'day' | 'hour' | 'minute' | 'second', ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** How long it is from one time to another, in the largest unit that fits: `3 min`. */
export function ageText(since: string, now: string): string {
  const ms = Math.max(0, Date.parse(now) - Date.parse(since));
  const [unit, size] = UNITS.find((one) => ms >= one[1]) ?? (['second', 1_000] as const);
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'short' }).format(Math.floor(ms / size));
}

const SIZES: readonly [unit: 'gigabyte' | 'megabyte' | 'kilobyte' | 'byte', bytes: number][] = [
  ['gigabyte', 1_000_000_000],
  ['megabyte', 1_000_000],
  ['kilobyte', 1_000],
  ['byte', 1],
];

export function bytesText(bytes: number): string {
  const [unit, size] = SIZES.find((one) => bytes >= one[1]) ?? (['byte', 1] as const);
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, maximumFractionDigits: 1 }).format(bytes / size);
}

/** `1 worker`, `2 workers`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${new Intl.NumberFormat().format(count)} ${count === 1 ? one : many}`;
}
