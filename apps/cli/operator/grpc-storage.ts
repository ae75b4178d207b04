import type { GetAccountStorageResponse } from '../../grpc/generated/darkroom/v1/access_pb.js';
import type { AccountStorage } from '../../operator/account-storage.js';

/** As a remote server reports it. */
export function storageOf({
  unchargedContent,
  apps,
  limits,
  nextPageToken,
}: GetAccountStorageResponse): AccountStorage {
  return {
    uncharged: { generations: Number(unchargedContent?.generations), bytes: Number(unchargedContent?.bytes) },
    apps: {
      items: apps.map(({ appId, displayName: name, uploads, unfinishedUploads, uploadBytes }) => ({
        appId,
        name,
        uploads: Number(uploads),
        unfinished: Number(unfinishedUploads),
        bytes: Number(uploadBytes),
      })),
      ...(nextPageToken === '' ? {} : { nextCursor: nextPageToken }),
    },
    limits: {
      unchargedBytes: Number(limits?.unchargedContentBytes),
      uploads: Number(limits?.uploads),
      unfinished: Number(limits?.unfinishedUploads),
      bytes: Number(limits?.uploadBytes),
    },
  };
}
