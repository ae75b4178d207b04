/** What takes a sign-in of the last 15 minutes begins with another sign-in. */
export function SignInAgain({ toDo }: { readonly toDo: string }) {
  return (
    <form method="post" action="/sign-out?return=/console/sign-in" class="again">
      <p class="quiet">{`To ${toDo}, sign in again: your last sign-in was more than 15 minutes ago.`}</p>
      <button type="submit" class="outline secondary small">
        Sign in again
      </button>
    </form>
  );
}
