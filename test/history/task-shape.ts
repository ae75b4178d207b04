import type { Json, JsonObject } from '../../core/json.js';
import { rankOf } from './task-order.js';
import { textOf } from './values.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const isText = (value: Json | undefined) => typeof value === 'string' && value !== '';
const isId = (value: Json | undefined) => typeof value === 'string' && UUID.test(value);
const isTime = (value: Json | undefined) =>
  typeof value === 'string' && TIMESTAMP.test(value) && new Date(value).toISOString() === value;
const isCount = (value: Json | undefined) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isSize = (value: Json | undefined) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
const isModality = (value: Json | undefined) => value === 'image' || value === 'video';

type Rule = (value: Json | undefined, task: JsonObject) => boolean;

const isOpen = ({ status }: JsonObject) => rankOf(status) < 2;
/** Present and such, exactly under a condition. */
const when =
  (condition: (task: JsonObject) => boolean, rule: Rule): Rule =>
  (value, task) =>
    condition(task) ? rule(value, task) : value === undefined;

const TASK: Readonly<Record<string, Rule>> = {
  generation_id: isId,
  status: (value) => rankOf(value) >= 0,
  model_key: isText,
  modality: isModality,
  operation: (value) => value === 'image_generation' || value === 'video_generation',
  created_at: isTime,
  updated_at: (value, { created_at: createdAt }) => isTime(value) && textOf(value) >= textOf(createdAt),
  completed_at: when((task) => !isOpen(task), isTime),
  poll_after_ms: when(isOpen, isCount),
  estimated_credits: isCount,
  reserved_credits: (value, { estimated_credits: estimated }) => isCount(value) && value === estimated,
  charged_credits: (value, task) =>
    isCount(value) &&
    Number(value) <= Number(task['reserved_credits']) &&
    (value === 0 || task['status'] === 'succeeded' || task['status'] === 'cancelled'),
  outputs: (value, { status }) =>
    Array.isArray(value) &&
    value.every(isOutput) &&
    (status === 'succeeded' ? value.length > 0 : status === 'cancelled' || value.length === 0),
  error: when(({ status }) => status === 'failed', isError),
  client_trace_id: (value) => value === undefined || isText(value),
};

const OUTPUT: Readonly<Record<string, Rule>> = {
  media_id: isId,
  media_type: isModality,
  url: isText,
  width: isSize,
  height: isSize,
  duration_ms: when(({ media_type: kind }) => kind === 'video', isCount),
};

const ERROR: Readonly<Record<string, Rule>> = {
  code: isText,
  message: isText,
  retryable: (value) => typeof value === 'boolean',
};

/** What is wrong with a task as a client is shown it, if anything: the member and its value. */
export function taskFault(task: JsonObject): string | undefined {
  return faultIn(task, TASK);
}

function isOutput(value: Json): boolean {
  return isObject(value) && faultIn(value, OUTPUT) === undefined;
}

function isError(value: Json | undefined): boolean {
  return isObject(value) && faultIn(value, ERROR) === undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function faultIn(value: JsonObject, rules: Readonly<Record<string, Rule>>): string | undefined {
  const unknown = Object.keys(value).find((name) => !(name in rules) && value[name] !== undefined);
  const wrong = unknown ?? Object.entries(rules).find(([name, rule]) => !rule(value[name], value))?.[0];
  return wrong === undefined ? undefined : `${wrong} is ${JSON.stringify(value[wrong]) ?? 'not there'}`;
}
