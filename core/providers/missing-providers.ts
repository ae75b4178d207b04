import type { Generation } from '../generation/generation.js';
import type { Log } from '../log.js';
import type { Ports } from '../ports/ports.js';

/** How often tasks of one model at one provider are warned of, in milliseconds. */
const WARN_AGAIN_MS = 60_000;

/** Warns of tasks at providers that this process cannot ask, as a catalog or a configuration without them is in use. */
export class MissingProviders {
  private readonly warnedAt = new Map<string, number>();

  constructor(private readonly ports: Pick<Ports, 'catalog' | 'clock' | 'providers'> & { readonly log: Log }) {}

  /** Does nothing for a generation without a task at a provider, and where it has warned of such a one just now. */
  found({ generationId, modelKey, attempt }: Generation): void {
    if (attempt === undefined) return;
    const { clock, log } = this.ports;
    const { provider } = attempt;
    const key = `${modelKey} ${provider ?? ''}`;
    const now = clock.monotonic();
    if (now - (this.warnedAt.get(key) ?? -Infinity) < WARN_AGAIN_MS) return;
    this.warnedAt.set(key, now);
    log.warn('provider of a task missing', {
      generationId,
      model: modelKey,
      ...(provider === undefined ? {} : { provider }),
      missingIn: this.missingIn(modelKey, provider),
    });
  }

  private missingIn(modelKey: string, provider: string | undefined): 'configuration' | 'catalog' | 'route' {
    const { catalog, providers } = this.ports;
    if (provider !== undefined && providers.find(provider) === undefined) return 'configuration';
    return catalog.find(modelKey) === undefined ? 'catalog' : 'route';
  }
}
