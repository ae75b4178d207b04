import { useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { Fact } from '../parts/fact.js';
import { dateText } from '../format.js';
import { Card, focusOn } from '../parts/card.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Loaded } from '../parts/loaded.js';
import { change, sentenceOf } from '../server.js';
import type { Identity, Overview } from '../server-types.js';
import { useData } from '../use-data.js';
import { SignInAgain } from './sign-in-again.js';
import { Fault } from '../parts/fault.js';

/** Identities at an outside provider that sign the person in. Not shown where there is neither a provider nor one. */
export function IdentityList({ overview }: { readonly overview: Overview }) {
  const { provider_name: providerName } = overview;
  const identities = useData<{ readonly identities: readonly Identity[] }>('/identities');
  if (providerName === null && (identities.value?.identities.length ?? 0) === 0) return null;
  const unlinked = async (): Promise<void> => {
    await identities.reload();
    announce('The identity is removed.');
    focusOn('identities');
  };
  return (
    <Card
      id="identities"
      title={providerName ?? 'Outside identities'}
      note="Identities elsewhere that sign you in here."
    >
      <Loaded data={identities} what="identities">
        {({ identities: shown }) =>
          shown.length === 0 ? (
            <p class="empty">None is connected.</p>
          ) : (
            <ul class="rows">
              {shown.map((identity) => (
                <IdentityRow key={`${identity.issuer} ${identity.subject}`} shown={identity} unlinked={unlinked} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {providerName === null ? null : <LinkButton name={providerName} overview={overview} />}
    </Card>
  );
}

interface IdentityRowProps {
  readonly shown: Identity;
  readonly unlinked: () => Promise<void>;
}

function IdentityRow({ shown, unlinked }: IdentityRowProps) {
  const host = URL.canParse(shown.issuer) ? new URL(shown.issuer).host : shown.issuer;
  return (
    <li>
      <div class="row-head">
        <h3>{host}</h3>
        <ConfirmButton
          label="Remove"
          fullLabel={`Remove ${shown.subject} at ${host}`}
          question="Remove this identity?"
          consequence="You can no longer sign in with it. Make sure that you have another way to sign in."
          doIt="Remove it"
          action={() => change('/identities/unlink', { issuer: shown.issuer, subject: shown.subject })}
          done={unlinked}
        />
      </div>
      <dl class="facts">
        <Fact name="Subject" text={shown.subject} />
        <Fact name="Connected" text={dateText(shown.linked_at)} />
      </dl>
    </li>
  );
}

/** Leads to the provider and back. Another way to sign in takes proof that the person is there. */
function LinkButton({ name, overview }: { readonly name: string; readonly overview: Overview }) {
  const [fault, setFault] = useState<string>();
  const leave = async (): Promise<void> => {
    setFault(undefined);
    try {
      const { location } = await change<{ readonly location: string }>('/identities/link');
      window.location.assign(location);
    } catch (error) {
      setFault(sentenceOf(error));
    }
  };
  if (!overview.session.is_recent) return <SignInAgain overview={overview} toDo="connect one" />;
  return (
    <>
      <Fault text={fault} />
      <button type="button" class="outline secondary small" onClick={() => void leave()}>
        {`Connect ${name}`}
      </button>
    </>
  );
}
