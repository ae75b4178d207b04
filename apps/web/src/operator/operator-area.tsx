import { PageLink } from '../parts/parts.js';
import type { Overview } from '../server-types.js';
import { AccountList } from './account-list.js';
import { AccountPage } from './account/account-page.js';
import { PasskeyNeeded, RecentSignInNeeded, Refused } from './act-button.js';
import { BooksPage } from './books-page.js';
import { GenerationPage } from './generation-page.js';
import './operator.css';
import { ProviderList } from './provider-list.js';
import { hrefOfPlace, LISTED, type Place, place as shownPlace } from './places.js';
import { WorkList } from './work-list.js';

interface OperatorAreaProps {
  readonly place: Place;
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** The area of operators, once they have signed in with a passkey. */
export function OperatorArea({ place, overview, reload }: OperatorAreaProps) {
  if (!overview.has_operator_area)
    return <p class="fault">This is for operators, and you are none. What was yours is in the account’s own pages.</p>;
  if (overview.session.method !== 'passkey') return <PasskeyNeeded overview={overview} />;
  return (
    <>
      {overview.session.is_recent ? null : <RecentSignInNeeded />}
      {/* A sign-in may have grown old since the page was opened, which the notice above then says. */}
      <Refused.Provider value={() => void reload()}>
        <OperatorPage key={place.id ?? place.name} place={place} self={overview.person.id} />
      </Refused.Provider>
    </>
  );
}

function OperatorPage({ place: { name, id }, self }: Pick<OperatorAreaProps, 'place'> & { readonly self: string }) {
  switch (name) {
    case 'accounts':
      return id === undefined ? <AccountList /> : <AccountPage id={id} self={self} />;
    case 'work':
      return id === undefined ? <WorkList /> : <GenerationPage id={id} />;
    case 'providers':
      return <ProviderList />;
    case 'books':
      return <BooksPage />;
    default:
      return null;
  }
}

/** The links of the operator's area, beneath those of the account. */
export function OperatorNavigation() {
  return (
    <>
      <p id="operator-navigation" class="nav-title">
        Operator
      </p>
      <ul aria-labelledby="operator-navigation">
        {LISTED.map(({ name, title }) => (
          <li key={name}>
            <PageLink href={hrefOfPlace({ name })} isCurrent={shownPlace.value?.name === name}>
              {title}
            </PageLink>
          </li>
        ))}
      </ul>
    </>
  );
}
