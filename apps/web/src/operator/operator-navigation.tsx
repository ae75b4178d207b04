import { PageLink } from '../parts/page-link.js';
import { hrefOfPlace, LISTED, place } from './places.js';

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
            <PageLink href={hrefOfPlace({ name })} isCurrent={place.value?.name === name}>
              {title}
            </PageLink>
          </li>
        ))}
      </ul>
    </>
  );
}
