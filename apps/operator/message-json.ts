import { create, createRegistry, type DescField, type DescMessage, type Message } from '@bufbuild/protobuf';
import { type Duration, durationMs, type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Account, Entry } from '../../core/credits/account.js';
import type { Generation } from '../../core/generation/generation.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { ProviderCapabilities } from '../../core/ports/provider.js';
import { renderAccount } from '../grpc/access.js';
import { renderEntry } from '../grpc/credits.js';
import { Access } from '../grpc/generated/darkroom/v1/access_pb.js';
import { AccountSchema } from '../grpc/generated/darkroom/v1/accounts_pb.js';
import { Credits, EntrySchema } from '../grpc/generated/darkroom/v1/credits_pb.js';
import { GenerationRecordSchema, Operations } from '../grpc/generated/darkroom/v1/operations_pb.js';
import { People } from '../grpc/generated/darkroom/v1/people_pb.js';
import { ProviderPromisesSchema } from '../grpc/generated/darkroom/v1/providers_pb.js';
import { renderCapabilities, renderRecord } from '../grpc/operations.js';

const REGISTRY = createRegistry(
  ...[Access, Credits, Operations, People].flatMap(({ file }) => [file, ...file.dependencies]),
);

/**
 * A message of the operators' services as the commands print it and the operator's area returns it: snake_case names,
 * whole numbers as numbers, enums as words without their prefix, and times as ISO texts (a `_on` name has the day only,
 * a `_ms` name a duration in milliseconds). Absent fields are left out. A new field of a message is shown under its own
 * name, after the others. Throws for a message that lacks or has something that this version cannot show.
 */
export function messageJson(message: Message | undefined): JsonObject {
  const desc = message && REGISTRY.getMessage(message.$typeName);
  if (desc === undefined) throw unknownAnswer();
  return recordOf(desc, message as unknown as Fields);
}

// Records of core that no method returns as they are.

export function accountJson(account: Account): JsonObject {
  return messageJson(create(AccountSchema, renderAccount(account)));
}

export function entryJson(entry: Entry): JsonObject {
  return messageJson(create(EntrySchema, renderEntry(entry)));
}

export function generationJson(generation: Generation): JsonObject {
  return messageJson(create(GenerationRecordSchema, renderRecord(generation)));
}

export function capabilitiesJson(capabilities: ProviderCapabilities): JsonObject {
  return messageJson(create(ProviderPromisesSchema, renderCapabilities(capabilities)));
}

type Fields = Readonly<Record<string, unknown>>;

/** Names that differ from those in the proto files. */
const NAMES: Readonly<Record<string, string>> = {
  api_key: 'key',
  api_keys: 'keys',
  asked_by_token: 'is_asked_by',
  cancel_time: 'cancel_requested_at',
  cancelled_work: 'work',
  connected: 'is_connected',
  complete_time: 'completed_at',
  create_time: 'created_at',
  current: 'is_current',
  disable_time: 'disabled_at',
  display_name: 'name',
  earlier_time: 'earlier_at',
  erase_time: 'erased_at',
  expire_time: 'expires_at',
  fail_time: 'failing_since',
  from_book: 'from',
  last_call_time: 'last_call_at',
  last_sign_in_time: 'last_sign_in_on',
  last_use_time: 'last_used_on',
  median_submit_time: 'median_submit_ms',
  median_time: 'median_ms',
  next_page_token: 'next_cursor',
  oldest_wait: 'oldest_wait_ms',
  p95_time: 'p95_ms',
  only_process: 'is_only_process',
  paid: 'is_paid',
  pause_end_time: 'paused_until',
  promote_time: 'operator_since',
  read_time: 'read_at',
  reloaded: 'is_reloaded',
  reordered: 'is_reordered',
  request_time: 'requested_at',
  results_kept: 'keeps_results_ms',
  revoke_time: 'revoked_at',
  seen_time: 'seen_at',
  settle_time: 'settle_ms',
  start_time: 'starts_at',
  suspend_time: 'suspended_at',
  time: 'at',
  to_book: 'to',
  update_time: 'updated_at',
  wait_time: 'wait_ms',
};

/** Names in one message alone. */
const NAMES_IN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AccountCredits: {
    issued: 'issued_credits',
    available: 'available_credits',
    reserved: 'reserved_credits',
    spent: 'spent_credits',
  },
  Entry: { create_time: 'at' },
  GetOverviewResponse: { time: 'now' },
};

/** The first fields of messages whose order differs from that of the proto files. */
const FIRST: Readonly<Record<string, string>> = {
  Account: 'account_id display_name currency create_time suspend_time',
  ApiKey: 'key_id account_id app_id display_name scopes monthly_cap',
  ConnectedProvider: 'name kind state reason pause_end_time fail_time last_call_time circuit tasks waiting',
  Entry: 'sequence create_time',
  Person: 'person_id account_id email create_time disable_time last_sign_in_time promote_time',
  RunRecoveryResponse:
    'generations_woken generations_ended generations_settled generations_retired holds_released holds_settled ' +
    'uploads_swept uploads_removed claims_removed fingerprints_removed artefacts_removed deliveries_woken deliveries_removed',
};

/** Left out when empty, 0 or false, as if they were absent. */
const OPTIONAL = new Set(['costs', 'max_masked_references', 'needs_mask', 'next_page_token']);

/** Fields whose own fields are shown in their place. */
const INLINED = new Set(['darkroom.v1.AccountCredits']);

function recordOf(desc: DescMessage, message: Fields): JsonObject {
  const record: Record<string, Json> = {};
  for (const field of fieldsOf(desc)) {
    const value = message[field.localName];
    if (
      value === undefined ||
      (OPTIONAL.has(field.name) && (value === '' || value === 0 || value === false || isEmptyList(value)))
    )
      continue;
    if (field.message !== undefined && INLINED.has(field.message.typeName))
      Object.assign(record, recordOf(field.message, value as Fields));
    else {
      const name = NAMES_IN[desc.name]?.[field.name] ?? NAMES[field.name] ?? field.name;
      record[name] = Array.isArray(value)
        ? value.map((item) => valueOf(field, item, name))
        : valueOf(field, value, name);
    }
  }
  return record;
}

const ORDERED = new WeakMap<DescMessage, readonly DescField[]>();

function fieldsOf(desc: DescMessage): readonly DescField[] {
  let fields = ORDERED.get(desc);
  if (fields === undefined) {
    const first = (FIRST[desc.name] ?? '')
      .split(' ')
      .flatMap((name) => desc.fields.find((field) => field.name === name) ?? []);
    ORDERED.set(desc, (fields = [...first, ...desc.fields.filter((field) => !first.includes(field))]));
  }
  return fields;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function valueOf(field: DescField, value: unknown, name: string): Json {
  if (field.message !== undefined) return messageValue(field.message, value, name);
  if (field.enum !== undefined) return wordOf(field.enum, value as number);
  if (name === 'is_asked_by') return value === true ? 'token' : 'nothing';
  return typeof value === 'bigint' ? Number(value) : (value as Json);
}

function messageValue(desc: DescMessage, value: unknown, name: string): Json {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp': {
      const text = timestampDate(value as Timestamp).toISOString();
      return name.endsWith('_on') ? text.slice(0, 10) : text;
    }
    case 'google.protobuf.Duration':
      return durationMs(value as Duration);
    case 'google.protobuf.Struct':
      return value as JsonObject;
    default:
      return recordOf(desc, value as Fields);
  }
}

/** The word of core for a value of an enum, such as `queued` for GENERATION_STATUS_QUEUED. */
function wordOf({ value: values }: NonNullable<DescField['enum']>, number: number): string {
  const name = number === 0 ? undefined : values[number]?.localName;
  if (name === undefined) throw unknownAnswer();
  return name.toLowerCase();
}

function unknownAnswer(): Error {
  return new Error('The answer of the server lacks fields that this command shows; is it another version?');
}
