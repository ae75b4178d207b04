import type { Ports } from '../../core/ports/tokens.js';
import type { Metrics } from './metrics.js';

/**
 * The same ports, what passes through them measured. Those that neither wait for anything nor fail stay as they are.
 */
export function measuredPorts(
  ports: Ports,
  { stores, ledgers, generations, objects, wakeUps, providers }: Metrics,
): Ports {
  const measuredObjects = stores.measured('objects', ports.objects, objects.learn);
  return {
    ...ports,
    accounts: stores.measured('accounts', ports.accounts, ledgers.learn),
    generations: stores.measured('generations', ports.generations, generations.learnWith(ports)),
    claims: stores.measured('claims', ports.claims),
    acceptances: stores.measured('acceptances', ports.acceptances, {
      accept: (answer, [{ change, generations: accepted }]) => {
        if (answer.outcome !== 'accepted') return;
        ledgers.count(change);
        generations.countAccepted(ports, accepted, answer.existing);
      },
    }),
    uploads: stores.measured('uploads', ports.uploads),
    credentials: stores.measured('credentials', ports.credentials),
    people: stores.measured('people', ports.people),
    artefacts: stores.measured('artefacts', ports.artefacts),
    webhookEndpoints: stores.measured('webhookEndpoints', ports.webhookEndpoints),
    deliveries: stores.measured('deliveries', ports.deliveries),
    objects: { ...measuredObjects, ...objects.counted(measuredObjects) },
    wakeUps: wakeUps.counted(ports.wakeUps, stores.measured('wakeUps', ports.wakeUps)),
    providers: providers.measured(ports.providers),
  };
}
