import { Figures, Page, type PageProps, PlaceLink } from '../parts/parts.js';
import { numberText } from '../format.js';

/** What an account needs to know first. */
export function OverviewPage({ overview: { account, person, session } }: PageProps) {
  const figures = [
    { name: 'Available', value: numberText(account.available_credits), unit: account.currency },
    { name: 'Reserved', value: numberText(account.reserved_credits), unit: account.currency },
    { name: 'Charged', value: numberText(account.spent_credits), unit: account.currency },
  ];
  return (
    <Page
      title="Overview"
      actions={
        <PlaceLink page="playground" class="button primary">
          New generation
        </PlaceLink>
      }
    >
      <div class="stack">
        {session.method !== 'link' || person.has_password || person.has_passkey ? null : (
          <p class="attention">
            Your sign-in link can’t be used again.
            <PlaceLink page="account" class="button small">
              Set a password or add a passkey
            </PlaceLink>
          </p>
        )}
        <Figures figures={figures} />
      </div>
    </Page>
  );
}
