/**
 * Goal: each list of words is written once, in core; lists elsewhere that cannot import it have the same words.
 * Method: look for the lists in all sources, and compare each copy that is found with the ones that are known; compare
 * the enums of the proto files and the pages of the documentation with core.
 */
import type { DescFile } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { file_darkroom_v1_access } from '../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { file_darkroom_v1_accounts } from '../../apps/grpc/generated/darkroom/v1/accounts_pb.js';
import { file_darkroom_v1_catalog } from '../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import { file_darkroom_v1_catalog_file } from '../../apps/grpc/generated/darkroom/v1/catalog_file_pb.js';
import { file_darkroom_v1_credits } from '../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { file_darkroom_v1_erasure } from '../../apps/grpc/generated/darkroom/v1/erasure_pb.js';
import { file_darkroom_v1_generations } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { file_darkroom_v1_media } from '../../apps/grpc/generated/darkroom/v1/media_pb.js';
import { file_darkroom_v1_operations } from '../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { file_darkroom_v1_overview } from '../../apps/grpc/generated/darkroom/v1/overview_pb.js';
import { file_darkroom_v1_people } from '../../apps/grpc/generated/darkroom/v1/people_pb.js';
import { file_darkroom_v1_providers } from '../../apps/grpc/generated/darkroom/v1/providers_pb.js';
import { file_darkroom_v1_storage } from '../../apps/grpc/generated/darkroom/v1/storage_pb.js';
import { file_darkroom_v1_uploads } from '../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
import { file_darkroom_v1_webhooks } from '../../apps/grpc/generated/darkroom/v1/webhooks_pb.js';
import { AUDIENCES, SCOPES } from '../../core/access/credential.js';
import { FAULT_POLICIES, OTHER_SIZE_POLICIES } from '../../core/catalog/model.js';
import { TEXT_HIDDEN } from '../../core/catalog/operate-catalog.js';
import { PRICE_UNITS } from '../../core/catalog/price.js';
import { BOOKS, ENTRY_KINDS } from '../../core/credits/account.js';
import { ERASABLE } from '../../core/erasure/erasure.js';
import { ERRORS } from '../../core/errors.js';
import { EVENT_TYPES } from '../../core/generation/events.js';
import {
  END_STATUSES,
  MODALITIES,
  OPERATIONS,
  PROVIDER_ERRORS,
  REFERENCE_ROLES,
  STATUSES,
  TASK_ERRORS,
} from '../../core/generation/generation.js';
import { IMAGE_TYPES } from '../../core/media/media-types.js';
import { SIGN_IN_METHODS } from '../../core/people/sessions.js';
import { CANCELS } from '../../core/ports/provider.js';
import { PROVIDER_STATES } from '../../core/providers/provider-state.js';
import { CIRCUITS } from '../../core/providers/provider-use.js';
import { UPLOAD_STATES } from '../../core/uploads/manage-uploads.js';
import { USAGE_BY } from '../../core/usage/read-usage.js';
import { ATTEMPT_FAULTS, ATTEMPT_RESULTS, DELIVERY_STATES } from '../../core/webhooks/delivery.js';
import { DISABLED_BECAUSE, SENT_EVENTS, WEBHOOK_EVENTS } from '../../core/webhooks/endpoint.js';
import { readPage, ROOT } from '../docs/pages.js';

/** Every list but `MODALITIES`, whose two words stand together for other reasons too. */
const LISTS = {
  ATTEMPT_FAULTS,
  ATTEMPT_RESULTS,
  AUDIENCES,
  BOOKS,
  CANCELS,
  CIRCUITS,
  DELIVERY_STATES,
  DISABLED_BECAUSE,
  END_STATUSES,
  ENTRY_KINDS,
  ERASABLE,
  ERRORS: Object.keys(ERRORS),
  EVENT_TYPES,
  FAULT_POLICIES,
  IMAGE_TYPES,
  OPERATIONS,
  OTHER_SIZE_POLICIES,
  PRICE_UNITS: Object.keys(PRICE_UNITS),
  PROVIDER_ERRORS,
  REFERENCE_ROLES,
  SCOPES,
  SENT_EVENTS,
  SIGN_IN_METHODS,
  STATUSES,
  TASK_ERRORS: Object.keys(TASK_ERRORS),
  UPLOAD_STATES,
  USAGE_BY,
  WEBHOOK_EVENTS,
} as const satisfies Readonly<Record<string, readonly string[]>>;

type ListName = keyof typeof LISTS;

/** Copies in code that must not import core: the account page and the client libraries. */
const COPIES: readonly string[] = [
  'apps/web/src/api-types.ts: DELIVERY_STATES',
  'apps/web/src/api-types.ts: EVENT_TYPES',
  'apps/web/src/api-types.ts: REFERENCE_ROLES',
  'apps/web/src/api-types.ts: STATUSES',
  'apps/web/src/api-types.ts: WEBHOOK_EVENTS',
  'apps/web/src/operator/overview-page.tsx: END_STATUSES',
  'apps/web/src/server-types.ts: AUDIENCES',
  'apps/web/src/server-types.ts: SCOPES',
  'apps/web/src/server-types.ts: SIGN_IN_METHODS',
  'clients/python/src/darkroom_client/_generate.py: END_STATUSES',
  'clients/python/src/darkroom_client/_generate.py: OPERATIONS',
  'clients/python/src/darkroom_client/_media.py: REFERENCE_ROLES',
  'clients/typescript/src/bytes.ts: IMAGE_TYPES',
  'clients/typescript/src/wait.ts: END_STATUSES',
];

const FOLDERS = ['core', 'adapters', 'apps', 'clients/typescript/src', 'clients/python/src'];

/** Words in quotes with a comma or a bar between them: an array, a set, a union of types. */
const WORD = /(?:'[^'\n]{1,60}'|"[^"\n]{1,60}")/.source;
const LIST = new RegExp(`${WORD}(?:\\s*[,|]\\s*${WORD})+`, 'g');

const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((word) => b.includes(word));

function copiesIn(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const found = [...text.matchAll(LIST)].map(([run]) => run.split(/\s*[,|]\s*/).map((word) => word.slice(1, -1)));
  return Object.entries(LISTS)
    .filter(([, words]) => found.some((run) => sameWords(run, words)))
    .map(([name]) => `${path}: ${name}`);
}

/** Made from the lists, or of other packages. */
const GENERATED = /\/(?:generated|node_modules)\/|\/darkroom_client\/types\.py$/;

function sources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .filter((path) => /\.(?:tsx?|py)$/.test(path) && !GENERATED.test(path)),
  );
}

/** Enums of the proto files, with core's words for their values. */
const ENUMS: Readonly<Record<string, readonly string[]>> = {
  Book: BOOKS,
  CatalogTextHidden: TEXT_HIDDEN,
  EntryKind: ENTRY_KINDS,
  ErasureSubject: ERASABLE,
  GenerationEventType: EVENT_TYPES,
  GenerationStatus: STATUSES,
  Modality: MODALITIES,
  Operation: OPERATIONS,
  PriceUnit: LISTS.PRICE_UNITS,
  ProviderCancels: CANCELS,
  ProviderCircuit: CIRCUITS,
  ProviderState: PROVIDER_STATES,
  ReferenceRole: REFERENCE_ROLES,
  UploadState: UPLOAD_STATES,
  UsageBy: USAGE_BY,
  WebhookAttemptFault: ATTEMPT_FAULTS,
  WebhookAttemptResult: ATTEMPT_RESULTS,
  WebhookDeliveryState: DELIVERY_STATES,
  WebhookDisabledReason: DISABLED_BECAUSE,
  WebhookEvent: SENT_EVENTS.map((event) => event.replace('.', '_')),
};

const FILES: readonly DescFile[] = [
  file_darkroom_v1_access,
  file_darkroom_v1_accounts,
  file_darkroom_v1_catalog,
  file_darkroom_v1_catalog_file,
  file_darkroom_v1_credits,
  file_darkroom_v1_erasure,
  file_darkroom_v1_generations,
  file_darkroom_v1_media,
  file_darkroom_v1_operations,
  file_darkroom_v1_overview,
  file_darkroom_v1_people,
  file_darkroom_v1_providers,
  file_darkroom_v1_storage,
  file_darkroom_v1_uploads,
  file_darkroom_v1_webhooks,
];

/** The lists that a page of the documentation gives in full. */
const PAGES: readonly (readonly [page: string, lists: readonly ListName[]])[] = [
  ['docs/api/README.md', ['SCOPES']],
  ['docs/api/generations.md', ['STATUSES']],
  ['docs/api/events.md', ['EVENT_TYPES']],
  ['docs/api/credits.md', ['ENTRY_KINDS']],
  ['docs/api/uploads.md', ['REFERENCE_ROLES']],
  ['docs/api/webhooks.md', ['WEBHOOK_EVENTS']],
  ['docs/catalog.md', ['OPERATIONS', 'PRICE_UNITS', 'REFERENCE_ROLES', 'FAULT_POLICIES', 'OTHER_SIZE_POLICIES']],
  ['docs/errors.md', ['ERRORS', 'TASK_ERRORS']],
];

describe('lists', () => {
  it('are written once, in core; every copy is a known one and has the same words', () => {
    const found = sources().flatMap((path) => copiesIn(path));
    expect(found.filter((copy) => !copy.startsWith('core/')).sort()).to.deep.equal(COPIES);
    const names = found.filter((copy) => copy.startsWith('core/')).map((copy) => copy.replace(/^.*: /, ''));
    expect(names, 'a list is written twice in core').to.have.length(new Set(names).size);
  });

  it('have the words of the enums of the proto files', () => {
    const enums = FILES.flatMap((file) => file.enums);
    expect(enums.map(({ name }) => name).sort()).to.deep.equal(Object.keys(ENUMS));
    for (const { name, sharedPrefix = '', values } of enums) {
      const words = values.slice(1).map((value) => value.name.toLowerCase().slice(sharedPrefix.length));
      expect(words, name).to.have.members([...(ENUMS[name] ?? [])]);
    }
  });

  for (const [path, names] of PAGES) {
    for (const name of names) {
      it(`are complete in ${path}: ${name}`, () => {
        const code = [...readPage(path).text.matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) =>
          span.split(/[^\w:./-]+/),
        );
        expect(LISTS[name].filter((word) => !code.includes(word))).to.deep.equal([]);
      });
    }
  }
});
