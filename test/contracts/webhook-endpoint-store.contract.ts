// Goal: every store of webhook endpoints keeps one record for each App.
// Method: the checks shared by all stores of named records, and reads for calls that are over.
import type { WebhookEndpointStore } from '../../core/ports/stores.js';
import { type AppWebhooks, END_EVENTS, WEBHOOK_EVENTS } from '../../core/webhooks/endpoint.js';
import { uuidAt } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject } from './subject.js';
import { namedRecords } from './versioned-records.js';

function webhooks(version: number, appId: string): AppWebhooks {
  const own = {
    endpointId: uuidAt(8),
    url: 'https://receiver.example/a$b.c?d="e"',
    events: END_EVENTS,
    description: 'Orders ✗',
    secret: { number: 2, madeAt: 7 },
    createdAt: 5,
    updatedAt: 9,
  };
  const disabled = {
    ...own,
    events: WEBHOOK_EVENTS,
    disabled: { at: 9, because: 'failing' },
    failingSince: 6,
  } as const;
  return { appId, accountId: uuidAt(9), version, endpoints: [own, disabled], defaultSecret: { number: 1, madeAt: 3 } };
}

export function webhookEndpointStoreContract(subject: ContractSubject<WebhookEndpointStore>): void {
  contract('WebhookEndpointStore contract', subject, (store) => {
    namedRecords({ store, make: webhooks, names: [uuidAt(1), uuidAt(2)] });

    describe('a call that is over', () =>
      endedCalls(async () => {
        await store().replace(webhooks(1, uuidAt(1)), 0);
        return { read: (call) => store().read(uuidAt(1), call) };
      }));
  });
}
