import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AccountStorage } from '../../operator/account-storage.js';
import { StoreOperator } from '../../operator/store-operator.js';
import { Access, type GetAccountStorageResponseSchema } from '../generated/darkroom/v1/access_pb.js';
import { plain } from '../method.js';
import { readPage } from '../pages.js';

export const STORAGE_METHODS = [
  plain(Access.method.getAccountStorage, {
    scope: 'access:read',
    answer: async ({ context, request }) =>
      renderStorage(await new StoreOperator(context).getStorage(request.accountId, readPage(request))),
  }),
] as const;

function renderStorage({
  uncharged,
  apps,
  limits,
}: AccountStorage): MessageInitShape<typeof GetAccountStorageResponseSchema> {
  return {
    unchargedContent: { generations: BigInt(uncharged.generations), bytes: BigInt(uncharged.bytes) },
    apps: apps.items.map(({ appId, name, uploads, unfinished, bytes }) => ({
      appId,
      displayName: name,
      uploads: BigInt(uploads),
      unfinishedUploads: BigInt(unfinished),
      uploadBytes: BigInt(bytes),
    })),
    limits: {
      unchargedContentBytes: BigInt(limits.unchargedBytes),
      uploads: BigInt(limits.uploads),
      unfinishedUploads: BigInt(limits.unfinished),
      uploadBytes: BigInt(limits.bytes),
    },
    nextPageToken: apps.nextCursor ?? '',
  };
}
