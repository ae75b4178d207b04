/**
 * Goal: a field of a generation is shown by every front that is to show it, and by no other.
 * Method: a table says for each stored field who shows it, and does not compile while one is missing; a generation with all
 * fields is rendered, and its names are compared with the schema, the proto files and the types of the account page. Its tasks, and those of the client libraries, are generated from the schema.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GenerationSchema } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { GenerationRecordSchema } from '../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { renderGeneration } from '../../apps/grpc/generations.js';
import { renderTask, TASK_SCHEMA } from '../../apps/http/render/generation.js';
import { type Generation, type Output, taskError } from '../../core/generation/generation.js';
import { ROOT } from '../docs/pages.js';

type Field = Exclude<keyof Generation, 'kind'>;

/** Shown to developers (`task`), to operators (`record`), to both, or to neither under this name. */
const SHOWN: Readonly<Record<Field, 'task' | 'record' | 'both' | 'neither'>> = {
  generationId: 'both',
  accountId: 'record',
  appId: 'record',
  credentialId: 'neither',
  version: 'neither',
  status: 'both',
  modelKey: 'both',
  modality: 'task',
  operation: 'both',
  prompt: 'neither',
  negativePrompt: 'neither',
  parameters: 'neither',
  references: 'neither',
  clientTraceId: 'both',
  webhookUrl: 'neither',
  createdAt: 'both',
  updatedAt: 'both',
  completedAt: 'both',
  estimatedCredits: 'task',
  reservedCredits: 'both',
  chargedCredits: 'both',
  terms: 'neither',
  fence: 'neither',
  lease: 'neither',
  attempt: 'neither',
  attemptsMade: 'neither',
  submissionsMade: 'neither',
  retryAt: 'neither',
  notHere: 'neither',
  costs: 'record',
  runDeadlineAt: 'neither',
  lastPollBy: 'neither',
  progress: 'neither',
  cancelRequestedAt: 'record',
  outputs: 'task',
  error: 'both',
  settledAt: 'neither',
  outputsRemovedAt: 'neither',
  unchargedBytes: 'neither',
  contentRemovedAt: 'neither',
  deletedAt: 'neither',
  lateReport: 'neither',
  dueAt: 'neither',
};

/** Shown beside the fields: made from several of them, or not stored. */
const OF_TASKS = ['poll_after_ms'];
const OF_RECORDS = ['attempts', 'worker', 'output_count', 'provider'];

/** Names of the proto files that are not those of REST. */
const PROTO_NAMES: Readonly<Record<string, string>> = {
  created_at: 'create_time',
  updated_at: 'update_time',
  completed_at: 'complete_time',
  cancel_requested_at: 'cancel_time',
  poll_after_ms: 'poll_after',
};

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const named = (...shown: readonly string[]): string[] =>
  Object.entries(SHOWN).flatMap(([field, by]) => (shown.includes(by) ? [snake(field)] : []));
const TASK = [...named('task', 'both'), ...OF_TASKS];
const RECORD = [...named('record', 'both'), ...OF_RECORDS];
const inProto = (names: readonly string[]): string[] => names.map((name) => PROTO_NAMES[name] ?? name);

const OUTPUT: Output = {
  mediaId: 'm',
  kind: 'video',
  objectKey: 'k',
  contentType: 'video/mp4',
  byteSize: 1,
  sha256: 'd',
  widthPx: 1,
  heightPx: 1,
  durationMs: 1,
};

/** Every field has a value. A renderer that leaves one out leaves it out of this one. */
const FULL: Required<Generation> = {
  kind: 'generation',
  generationId: 'g',
  accountId: 'a',
  appId: 'p',
  credentialId: 'c',
  version: 1,
  status: 'failed',
  modelKey: 'm',
  modality: 'video',
  operation: 'video_generation',
  prompt: 'p',
  negativePrompt: 'n',
  parameters: {},
  references: [],
  clientTraceId: 't',
  webhookUrl: 'https://example.com',
  createdAt: 1,
  updatedAt: 2,
  completedAt: 3,
  estimatedCredits: 3,
  reservedCredits: 3,
  chargedCredits: 2,
  terms: {
    priceVersion: '1',
    creditsByOutputs: [0, 3],
    cancelFloorCredits: 0,
    queueDeadlineAt: 4,
    runTimeoutMs: 5,
    maxAttempts: 1,
  },
  fence: 1,
  lease: { worker: 'w', fence: 1, renewedAt: 1, expiresAt: 2 },
  attempt: { number: 1, phase: 'submitted', token: 't', reference: 'r', startedAt: 1 },
  attemptsMade: 1,
  submissionsMade: 1,
  retryAt: 1,
  notHere: [],
  costs: [],
  runDeadlineAt: 1,
  lastPollBy: 1,
  progress: 1,
  cancelRequestedAt: 1,
  outputs: [OUTPUT],
  error: taskError('INTERNAL_ERROR'),
  settledAt: 1,
  outputsRemovedAt: 1,
  unchargedBytes: 1,
  contentRemovedAt: 1,
  deletedAt: 1,
  lateReport: { state: 'succeeded', at: 1 },
  dueAt: 1,
};

const VIEW = { generation: FULL, outputs: [{ output: OUTPUT, url: 'u', filename: 'f' }], pollAfterMs: 1 };

const present = (rendered: object): string[] =>
  Object.entries(rendered).flatMap(([name, value]) => (value === undefined ? [] : [name]));
const fieldsOf = ({ fields }: DescMessage): string[] => fields.map(({ name }) => name);

/** The fields of the operator area's type: its own, and those that it picks from other types. */
function operatorFields(): string[] {
  const source = readFileSync(join(ROOT, 'apps/web/src/operator/queue.tsx'), 'utf8');
  const [, types = ''] = /^(type Shared = .*?^interface Generation .*?)^\}/ms.exec(source) ?? [];
  return [...types.matchAll(/'(\w+)'|^ {2}readonly (\w+)/gm)].map(([, taken, own]) => taken ?? own ?? '');
}

describe('the fields of a generation', () => {
  it('are those of a task in the REST schema', () => {
    expect(Object.keys(TASK_SCHEMA['properties'] as object)).to.have.members(TASK);
  });

  it('are all in the JSON of a task', () => {
    expect(present(renderTask(VIEW))).to.have.members(TASK);
  });

  it('are those of the gRPC message', () => {
    expect(fieldsOf(GenerationSchema)).to.have.members(inProto(TASK));
  });

  it('are all in the rendered gRPC message', () => {
    expect(present(renderGeneration(VIEW)).map(snake)).to.have.members(inProto(TASK));
  });

  it('are those of the gRPC message for operators', () => {
    expect(fieldsOf(GenerationRecordSchema)).to.have.members(inProto(RECORD));
  });

  it('are known to the operator area of the account page', () => {
    expect(operatorFields()).to.have.members(
      RECORD.filter((name) => !['operation', 'updated_at', 'costs'].includes(name)),
    );
  });
});
