//! The ownership of a Turn at work: it lasts as long as something works on it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::bench::{Bench, result, run};
use crate::{
    authority::Authority,
    model::{Duration, TurnState},
    process, turn,
};

#[test]
fn an_ownership_is_kept_while_a_validator_works_longer_than_it_lasts() {
    // given an ownership of a second, and a validator of two
    let mut bench = Bench::new(Some("sleep 2"));
    let todo_id = bench.todo(|_| {});
    let start = turn::Start { ttl_ms: Some(Duration::from_secs(1)), ..bench.start(&todo_id) };
    let host = bench.host(&result("validated_completion"), |_| {});
    // when somebody looks at it all the while
    let (ledger, over) = (bench.ledger.clone(), AtomicBool::new(false));
    let (looks, lapsed) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut present = Authority::new(Box::new(ledger.clone()));
            let (mut looks, mut lapsed) = (0_u32, 0_u32);
            while !over.load(Ordering::SeqCst) {
                let own = ledger.rows().todos[&todo_id].ownership.clone();
                if let Some(own) = own {
                    looks += 1;
                    lapsed += u32::from(own.expires_at <= present.present().unwrap().now);
                }
                process::pause(20);
            }
            (looks, lapsed)
        });
        let done = run(&mut bench.site(), &start, &host, &|| false);
        over.store(true, Ordering::SeqCst);
        assert_eq!(done.unwrap().turn().state, TurnState::Settled);
        looking.join().unwrap()
    });
    // then it was nobody else's to take
    assert!(looks > 20 && lapsed == 0, "{lapsed} of {looks}");
}
