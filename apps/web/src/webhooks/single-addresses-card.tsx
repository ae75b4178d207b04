import { announce } from '../announce.js';
import type { WebhookSecret } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { Card, focusOn } from '../parts/card.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { SectionLink } from '../parts/section-link.js';
import { change } from '../server.js';
import { ShownSecret, useShownSecret } from './shown-secret.js';

interface SingleAddressesCardProps {
  readonly appId: string;
  readonly app: string | undefined;
}

/** The App's own secret, which signs what is sent to addresses of single generations. */
export function SingleAddressesCard({ appId, app }: SingleAddressesCardProps) {
  const [secret, setSecret] = useShownSecret();
  const close = (): void => {
    setSecret(undefined);
    focusOn('single-addresses');
  };
  return (
    <Card
      id="single-addresses"
      title="Addresses of single generations"
      note="A program can name an address with one generation, in the header Darkroom-Webhook-Url. The App's own secret signs what is sent there."
    >
      {secret === undefined ? (
        <div class="actions">
          <ConfirmButton
            label="Make a secret"
            fullLabel="Make a secret for addresses of single generations"
            isHarmless
            question="Make a new secret of the App?"
            consequence="If the App has one already, messages are signed with both for a day, and then with the new one alone."
            doIt="Make it"
            action={() => change<WebhookSecret>(inApp(appId, '/webhooks/default/secret'))}
            done={async (made) => {
              setSecret(made);
              announce('The secret was made. Copy it now.');
              focusOn('single-addresses');
            }}
          />
          <SectionLink name="webhooks" id="default" query={{ app }}>
            What was sent there
          </SectionLink>
        </div>
      ) : (
        <ShownSecret secret={secret} onDone={close} />
      )}
    </Card>
  );
}
