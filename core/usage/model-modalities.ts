import type { Call, Models, Work } from '../context.js';
import type { Modality } from '../generation/generation.js';
import type { UseRow } from './usage.js';

/** The modality of a row; `unknown` if it names no model, or one that is no longer known. */
export type UsageModality = Modality | 'unknown';

/** The most models that have left the catalog whose generations one request looks for. */
const MAX_LOOKUPS = 50;
const UUID_CHARACTERS = 36;

export type ModalityPorts = Pick<Models, 'catalog'> & Pick<Work, 'generations'> & Call;

/**
 * The modalities of the models in rows of usage. A model keeps its modality, so rows need not store it: it is that of the
 * catalog, or for a model that has left the catalog that of a generation that is kept.
 */
export class ModelModalities {
  private readonly known = new Map<string, Promise<UsageModality>>();
  private lookups = 0;

  constructor(private readonly ports: ModalityPorts) {}

  of({ modelKey, appUse }: Pick<UseRow, 'modelKey' | 'appUse'>): UsageModality | Promise<UsageModality> {
    const model = modelKey === '' ? undefined : this.ports.catalog.find(modelKey);
    if (model !== undefined) return model.modality;
    const appId = appUse.slice(0, UUID_CHARACTERS);
    if (modelKey === '' || appId === '') return 'unknown';
    const place = `${appId} ${modelKey}`;
    const known = this.known.get(place);
    if (known !== undefined) return known;
    if (this.lookups === MAX_LOOKUPS) return 'unknown';
    this.lookups += 1;
    const found = this.ofGeneration(appId, modelKey);
    this.known.set(place, found);
    return found;
  }

  private async ofGeneration(appId: string, modelKey: string): Promise<UsageModality> {
    const { generations, call } = this.ports;
    const wanted = { of: 'app', appId, only: { field: 'modelKey', value: modelKey } } as const;
    const { items } = await generations.list(wanted, { limit: 1 }, call);
    return items[0]?.modality ?? 'unknown';
  }
}
