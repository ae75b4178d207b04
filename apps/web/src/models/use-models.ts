import { Darkroom } from '../../../../clients/typescript/src/index.js';
import type { Model } from '../api-types.js';
import { type Data, useData } from '../use-data.js';

const catalog = new Darkroom({ baseUrl: window.location.origin });

/** The models of the catalog, which needs no credential. */
export function useModels(): Data<readonly Model[]> {
  return useData('models of the catalog', { load: readModels });
}

function readModels(_: string, signal?: AbortSignal): Promise<readonly Model[]> {
  return catalog.models({ signal });
}
