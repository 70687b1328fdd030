//! Real private PostgreSQL servers: how they are made, as whom they run, and that nothing of them stays.

mod common;
mod life;
mod logins;
mod tls;

pub(crate) use common::{ask, options, servers};

mod test_all {
    use super::{life, logins, tls};
    use crate::private_server;

    #[test]
    fn the_newer_one_is_like_the_other() {
        life::it_is_ready_from_a_template_and_is_reached_by_its_unix_socket_too();
        life::only_its_user_may_read_its_secrets();
        life::for_root_it_runs_as_a_user_of_its_own_with_no_right_but_to_read();
        life::options_reach_the_server_and_its_record();
        logins::each_account_logs_in_by_its_method_and_by_no_other();
        logins::whom_everybody_can_be_reads_and_writes_data_and_runs_no_programs();
        logins::an_arm_is_proved_and_one_that_is_not_what_it_says_is_disproved();
        tls::every_tls_version_is_offered_where_it_is_asked_for();
        tls::each_group_of_the_catalogue_is_offered_and_its_own_choice_is_the_servers_default();
        tls::direct_tls_is_taken_where_the_catalogue_says_so_and_no_session_is_resumed();
        private_server::every_server_is_reached_from_here_alone_and_stops_without_a_trace();
        private_server::the_password_is_in_no_file_argument_or_debug_text();
        private_server::a_server_that_was_killed_is_known_to_be_dead_and_leaves_nothing();
        private_server::an_option_the_server_refuses_is_reported_in_its_words();
    }
}
