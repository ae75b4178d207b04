// Goal: a gRPC request that is refused for a missing or invalid field reports which one, by its name in the proto
// files; no field of any request accepts every value.
// Method: every field of every method's request, one at a time, made invalid in a request that is otherwise valid.
import {
  create,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { FieldMaskSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { type ServiceError, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Catalog } from '../../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { GenerationInputSchema, Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { Uploads } from '../../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
import { Webhooks } from '../../../apps/grpc/generated/darkroom/v1/webhooks_pb.js';
import { BadRequestSchema, ErrorInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { methodDefinition } from '../../../apps/grpc/definitions.js';
import type { ErrorCode } from '../../../core/errors.js';
import { detail, errorOf, GrpcHarness } from './grpc-harness.js';

const ID = '00000000-0000-4000-8000-000000000000';
/** The id of an event of 1970: all of the last day comes first. */
const LONG_AGO = `1_${ID}_4`;

interface Fault {
  /** The name in the proto files, dotted; also the reported name, unless `told` differs. */
  readonly field: string;
  /** Replaces the valid value; when absent, the field is omitted. */
  readonly bad?: JsonValue;
  /** FIELD_INVALID when absent. */
  readonly code?: ErrorCode;
  /** Null for a fault that is reported by its code alone: the record does not exist. */
  readonly told?: string | null;
}

interface Asked {
  readonly right: JsonObject;
  readonly faults: readonly Fault[];
}

const required = (field: string): Fault => ({ field, code: 'FIELD_REQUIRED' });
const each = (field: string, ...bad: readonly JsonValue[]): Fault[] => bad.map((value) => ({ field, bad: value }));

const unknown = (field: string): Fault[] => [{ field, bad: 'x', code: 'NOT_FOUND', told: null }];

/** A time out of bounds, which has no JSON form. */
const NO_TIME = 'no time';
const PAGE = [...each('page_size', -1), ...each('page_token', 'nonsense')];
const ACCOUNT = each('account_id', '', 'x');
const NAME = each('display_name', '', '  ', 'x'.repeat(101), 'a\u0007b');
const GENERATION: readonly Fault[] = [{ field: 'generation_id', bad: 'x', code: 'TASK_NOT_FOUND', told: null }];
const MASK = each('read_mask', 'secret', 'outputs.url');
const KEY: readonly Fault[] = [
  { field: 'idempotency_key', code: 'IDEMPOTENCY_KEY_REQUIRED' },
  ...['', 'two words', 'x'.repeat(256), 'é'].map(
    (bad) => ({ field: 'idempotency_key', bad, code: 'IDEMPOTENCY_KEY_INVALID' }) as const,
  ),
];
const DIGEST = each('sha256', '', 'x'.repeat(64), 'a'.repeat(63));
const INPUT: readonly Fault[] = [
  required('input.model_key'),
  ...each('input.model_key', '', 'none'),
  required('input.operation'),
  ...each('input.operation', 99, 'OPERATION_VIDEO_GENERATION'),
  required('input.prompt'),
  ...each('input.prompt', '', 'x'.repeat(8_001), 'a\0b'),
  ...each('input.negative_prompt', 'x'.repeat(8_001)),
  { field: 'input.parameters', bad: { size: 'large' }, told: 'input.parameters.size' },
  { field: 'input.parameters', bad: { 'size': '96x64', '0': 1 }, told: 'input.parameters.0' },
  { field: 'input.parameters', bad: { size: '96x64', tuning: { '0': 'a\0b' } }, told: 'input.parameters.tuning.0' },
  { field: 'input.reference_upload_ids', bad: ['x'], told: 'input.reference_upload_ids[0]' },
  { field: 'input.reference_upload_ids', bad: [ID, ID], told: 'input.reference_upload_ids[1]' },
  ...each('input.client_trace_id', '', 'two words', 'x'.repeat(129)),
];
const RIGHT_INPUT = {
  model_key: 'picture',
  operation: 'OPERATION_IMAGE_GENERATION',
  prompt: 'a lighthouse',
  parameters: { size: '96x64' },
};
const OPERATION = [
  ...ACCOUNT,
  ...each('operation_id', '', 'x'.repeat(256), 'a\0b'),
  ...each('reason', 'x'.repeat(1_001), 'a\0b'),
];
const END = '9999-12-31T23:59:59Z';

/** Invalid days of a usage or cost request. */
const DAYS = [...each('from', '', '2026-02-30'), ...each('to', 'x')];

/** Requests by method name. */
const ASKED: Readonly<Record<string, Asked>> = {
  EstimateGeneration: { right: { input: RIGHT_INPUT }, faults: INPUT },
  CreateGeneration: {
    right: { input: RIGHT_INPUT, idempotency_key: 'k' },
    faults: [...INPUT, ...KEY, ...each('webhook_url', '', 'x')],
  },
  GetGeneration: { right: { generation_id: ID }, faults: [...GENERATION, ...MASK] },
  GetThumbnails: { right: { generation_id: ID }, faults: GENERATION },
  ListGenerations: {
    right: {},
    faults: [
      ...PAGE,
      ...MASK,
      ...each('status', 99),
      ...each('model_key', '', 'x'.repeat(201)),
      ...each('client_trace_id', '', 'x'.repeat(129)),
      ...each('created_after', NO_TIME),
      ...each('created_before', NO_TIME),
    ],
  },
  DeleteGeneration: { right: { generation_id: ID }, faults: GENERATION },
  CancelGeneration: { right: { generation_id: ID }, faults: GENERATION },
  WatchGeneration: { right: { generation_id: ID }, faults: [...GENERATION, ...MASK] },
  WatchEvents: { right: { after_event_id: LONG_AGO }, faults: [...each('after_event_id', 'nonsense'), ...MASK] },
  PrepareUpload: {
    right: {
      filename: 'a.png',
      media_type: 'image/png',
      byte_size: 10,
      role: 'REFERENCE_ROLE_REFERENCE_IMAGE',
      idempotency_key: 'k',
    },
    faults: [
      required('filename'),
      ...each('filename', '', 'a/b', 'x'.repeat(256)),
      required('media_type'),
      ...each('media_type', ''),
      { field: 'media_type', bad: 'image/gif', code: 'UPLOAD_TYPE_NOT_ALLOWED' },
      required('byte_size'),
      ...each('byte_size', 0, -1),
      { field: 'byte_size', bad: 2 ** 40, code: 'UPLOAD_FILE_TOO_LARGE' },
      required('role'),
      ...each('role', 99),
      ...DIGEST,
      ...KEY,
    ],
  },
  DeleteUpload: { right: { upload_id: ID }, faults: unknown('upload_id') },
  GetUpload: { right: { upload_id: ID }, faults: unknown('upload_id') },
  CompleteUpload: {
    right: { upload_id: ID, idempotency_key: 'k' },
    faults: [...each('upload_id', '', 'x', ID), ...DIGEST, ...KEY],
  },
  CreateWebhook: {
    right: { url: 'https://receiver.example/fields' },
    faults: [
      required('url'),
      ...each('url', '', 'x', 'http://receiver.example/', `https://receiver.example/${'x'.repeat(2_048)}`),
      { field: 'events', bad: [99], told: 'events[0]' },
      ...each('description', 'x'.repeat(201)),
    ],
  },
  ListWebhooks: { right: {}, faults: [] },
  GetWebhook: { right: { webhook_id: ID }, faults: unknown('webhook_id') },
  UpdateWebhook: {
    right: { webhook_id: ID },
    faults: [
      ...unknown('webhook_id'),
      ...each('url', '', 'x'),
      { field: 'events', bad: [99], told: 'events[0]' },
      ...each('description', 'x'.repeat(201)),
    ],
  },
  DeleteWebhook: { right: { webhook_id: ID }, faults: unknown('webhook_id') },
  RotateWebhookSecret: { right: { webhook_id: 'default' }, faults: unknown('webhook_id') },
  TestWebhook: { right: { webhook_id: ID }, faults: unknown('webhook_id') },
  ListWebhookDeliveries: {
    right: { webhook_id: 'default' },
    faults: [
      ...unknown('webhook_id'),
      ...PAGE,
      ...each('state', 99),
      ...each('event', 99),
      ...each('generation_id', '', 'x'),
      ...each('created_after', NO_TIME),
      ...each('created_before', NO_TIME),
    ],
  },
  ReplayWebhookDelivery: {
    right: { webhook_id: 'default', delivery_id: ID },
    faults: [...unknown('webhook_id'), ...unknown('delivery_id')],
  },
  ReplayWebhookDeliveries: {
    right: { webhook_id: 'default', created_after: '2026-01-01T00:00:00Z' },
    faults: [
      ...unknown('webhook_id'),
      required('created_after'),
      ...each('created_after', NO_TIME),
      ...each('created_before', NO_TIME),
      ...each('state', 99),
      ...each('page_token', 'nonsense'),
    ],
  },
  GetBalance: { right: {}, faults: [] },
  ListOwnEntries: { right: {}, faults: PAGE },
  GetUsage: { right: {}, faults: [...each('by', 99), ...DAYS, ...PAGE] },
  GetAccountUsage: { right: { account_id: 'OWNER' }, faults: [...ACCOUNT, ...each('by', 99), ...DAYS, ...PAGE] },
  GrantCredits: {
    right: { account_id: 'OWNER', operation_id: 'g', credits: '1', reason: '' },
    faults: [...OPERATION, ...each('credits', '0', '-1', String(2n ** 53n - 1n), String(2n ** 53n))],
  },
  AdjustCredits: {
    right: { account_id: 'OWNER', operation_id: 'a', credits: '1', reason: 'r' },
    faults: [...OPERATION, ...each('reason', '', '  '), ...each('credits', '0', String(2n ** 53n))],
  },
  ListEntries: { right: { account_id: 'OWNER' }, faults: [...ACCOUNT, ...PAGE] },
  VerifyCredits: { right: {}, faults: [] },
  ListModels: { right: {}, faults: [] },
  GetModel: { right: { model_key: 'picture' }, faults: unknown('model_key') },
  CreateAccount: { right: { display_name: 'new' }, faults: [...NAME, ...each('currency', ' ', 'x'.repeat(101))] },
  ListAccounts: { right: {}, faults: PAGE },
  GetAccount: { right: { account_id: 'OWNER' }, faults: ACCOUNT },
  GetAccountStorage: { right: { account_id: 'OWNER' }, faults: [...ACCOUNT, ...PAGE] },
  SuspendAccount: { right: { account_id: 'OWNER' }, faults: ACCOUNT },
  ResumeAccount: { right: { account_id: 'OWNER' }, faults: ACCOUNT },
  RenameAccount: { right: { account_id: 'OWNER', display_name: 'new' }, faults: [...ACCOUNT, ...NAME] },
  EraseAccount: { right: { account_id: ID }, faults: ACCOUNT },
  EraseTrace: {
    right: { account_id: 'OWNER', client_trace_id: 'erased' },
    faults: [...ACCOUNT, ...each('client_trace_id', '', 'x'.repeat(129))],
  },
  GetErasure: { right: { erasure_id: ID }, faults: each('erasure_id', '', 'x') },
  CreateApp: { right: { account_id: 'OWNER', display_name: 'new' }, faults: [...ACCOUNT, ...NAME] },
  RenameApp: { right: { app_id: 'APP', display_name: 'new' }, faults: [...each('app_id', '', 'x'), ...NAME] },
  ListApps: { right: { account_id: 'OWNER' }, faults: [...ACCOUNT, ...PAGE] },
  CreateApiKey: {
    right: { app_id: 'APP', display_name: 'new', scopes: ['credits:read'], expire_time: END },
    faults: [
      ...each('app_id', '', 'x'),
      ...NAME,
      required('scopes'),
      ...each('scopes', ['credits:write'], ['credits:read', '']),
      ...each('expire_time', '1970-01-01T00:00:00Z'),
      ...each('monthly_cap', -1, '9007199254740992'),
    ],
  },
  ListApiKeys: { right: { account_id: 'OWNER' }, faults: [...ACCOUNT, ...PAGE] },
  RevokeApiKey: { right: { key_id: ID }, faults: each('key_id', '', 'x') },
  ExpireApiKey: {
    right: { key_id: ID, expire_time: END },
    faults: [...each('key_id', '', 'x'), required('expire_time')],
  },
  RunRecovery: { right: {}, faults: [] },
  GetRetention: { right: {}, faults: [] },
  SearchGenerations: {
    right: {},
    faults: [...each('account_id', 'x'), ...each('app_id', 'x'), ...each('statuses', [99]), ...PAGE],
  },
  GetOverview: { right: {}, faults: [...each('from', NO_TIME, '2000-01-01T00:00:00Z'), ...each('to', NO_TIME)] },
  GetModelCosts: { right: {}, faults: [...each('account_id', 'x'), ...DAYS] },
  FindGenerations: {
    right: { account_id: 'OWNER' },
    faults: [
      ...ACCOUNT,
      ...PAGE,
      ...unknown('app_id'),
      ...each('status', 99),
      ...each('model_key', '', 'x'.repeat(201)),
      ...each('credential_id', '', 'x'.repeat(201)),
      ...each('modality', 99),
      ...each('created_after', NO_TIME),
      ...each('created_before', NO_TIME),
      ...each('q', '', '  ', 'x'.repeat(201), 'a\0b', '?!'),
    ],
  },
  InspectGeneration: { right: { generation_id: ID }, faults: each('generation_id', '', 'x') },
  GetCatalogFile: { right: {}, faults: [] },
  CheckCatalogFile: { right: {}, faults: [] },
  ReloadCatalogFile: { right: {}, faults: [] },
  ListProviders: { right: {}, faults: [] },
  StopGeneration: { right: { generation_id: ID }, faults: each('generation_id', '', 'x') },
};

const METHODS: readonly DescMethod[] = [Generations, Uploads, Webhooks, Credits, Catalog, Access, Operations].flatMap(
  ({ methods }): DescMethod[] => methods,
);

/**
 * The names of a request's fields that can be invalid, including those of the message that describes a generation.
 */
function fieldsOf(message: DescMessage, before = ''): string[] {
  return message.fields
    .filter(({ scalar }) => scalar !== ScalarType.BOOL)
    .flatMap((field) =>
      field.message?.typeName === GenerationInputSchema.typeName
        ? fieldsOf(field.message, `${field.name}.`)
        : [`${before}${field.name}`],
    );
}

function withFault(
  right: JsonObject,
  [name = '', ...inner]: readonly string[],
  bad: JsonValue | undefined,
): JsonObject {
  const { [name]: before, ...others } = right;
  if (inner.length > 0) return { ...others, [name]: withFault(before as JsonObject, inner, bad) };
  return bad === undefined ? others : { ...others, [name]: bad };
}

describe('fields of requests over gRPC', () => {
  let grpc: GrpcHarness;
  before(async () => {
    grpc = await GrpcHarness.open();
  });
  after(() => grpc.close());

  /** Rejects as the call does. */
  function ask(method: DescMethod, json: JsonObject): Promise<unknown> {
    const { accountId, appId } = grpc.owner;
    const named = JSON.parse(
      JSON.stringify(json).replaceAll('"OWNER"', `"${accountId}"`).replaceAll('"APP"', `"${appId}"`),
    ) as JsonObject;
    const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
    // A mask with invalid paths has no JSON form.
    const { read_mask: mask, ...timed } = named;
    const isNoTime = ([, value]: [string, unknown]) => value === NO_TIME;
    const others = Object.fromEntries(Object.entries(timed).filter((field) => !isNoTime(field)));
    const noTimes = Object.entries(timed)
      .filter(isNoTime)
      .map(([name]) => [
        method.input.fields.find((one) => one.name === name)?.localName,
        create(TimestampSchema, { seconds: -(2n ** 50n) }),
      ]);
    const readMask = typeof mask === 'string' ? { readMask: create(FieldMaskSchema, { paths: [mask] }) } : {};
    const request = Object.assign(fromJson(method.input, others), readMask, Object.fromEntries(noTimes));
    return new Promise((resolve, reject) => {
      if (method.methodKind === 'server_streaming') {
        grpc.client
          .makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, grpc.as('all'))
          .on('data', resolve)
          .on('error', reject);
      } else {
        grpc.client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          grpc.as('all'),
          (error, answer) => {
            if (error) reject(error);
            else resolve(answer);
          },
        );
      }
    });
  }

  it('are all covered here', () => {
    expect(METHODS.map(({ name }) => name)).to.have.members(Object.keys(ASKED));
    for (const { name, input } of METHODS)
      expect(new Set(ASKED[name]?.faults.map(({ field }) => field)), name).to.deep.equal(new Set(fieldsOf(input)));
  });

  for (const method of METHODS) {
    const { right, faults } = ASKED[method.name] ?? { right: {}, faults: [] };
    for (const { field, bad, code = 'FIELD_INVALID', told = field } of faults) {
      it(`of ${method.name}: ${field} is ${bad === undefined ? 'missing' : JSON.stringify(bad).slice(0, 40)}`, async () => {
        const error: ServiceError = await errorOf(ask(method, withFault(right, field.split('.'), bad)));
        expect(detail(error, ErrorInfoSchema)?.reason).to.equal(code);
        if (told === null) return expect(detail(error, BadRequestSchema)).to.equal(undefined);
        expect(error.code).to.equal(Status.INVALID_ARGUMENT);
        const violations = detail(error, BadRequestSchema)?.fieldViolations.map(({ field: name, reason }) => [
          name,
          reason,
        ]);
        expect(violations).to.deep.equal([[told, code]]);
        expect(error.details, 'as if it were HTTP').not.to.match(/header|Idempotency-Key|body/);
      });
    }
  }

  it('are valid otherwise: a request is refused only for missing records', async () => {
    for (const method of METHODS) {
      const code = await ask(method, ASKED[method.name]?.right ?? {}).then(
        () => 'OK',
        (error: ServiceError) => detail(error, ErrorInfoSchema)?.reason,
      );
      expect(code, method.name).to.be.oneOf(
        method.name === 'CompleteUpload' ? ['FIELD_INVALID'] : ['OK', 'TASK_NOT_FOUND', 'NOT_FOUND'],
      );
    }
  });

  it('return at most the maximum page, whatever is requested', async () => {
    for (const page_size of [0, 1_000, 2_147_483_647])
      expect(await ask(Access.method.listAccounts, { page_size })).to.have.property('nextPageToken', '');
  });
});
